//! What somebody does to Docker behind Hearth's back is seen, and what Docker does of its own accord is kept in check.

use bollard::models::{
    ContainerCreateBody, ContainerUpdateBody, HostConfig, MountPoint, NetworkCreateRequest, RestartPolicy,
    RestartPolicyNameEnum,
};
use bollard::query_parameters::{
    CreateContainerOptionsBuilder, ListVolumesOptionsBuilder, RenameContainerOptionsBuilder,
};
use hearth_capabilities::contract::{ContainerWorld, Program};
use hearth_capabilities::{Containers, Fault, Networks};

use super::on_stage;

#[tokio::test]
async fn a_container_made_by_hand_is_seen_to_differ() {
    on_stage(async |machine, scene| {
        let name = scene.name("one");
        let options = CreateContainerOptionsBuilder::default().name(&name).build();
        let body = ContainerCreateBody {
            image: Some(machine.image().await),
            tty: Some(true),
            host_config: Some(HostConfig {
                pid_mode: Some("host".to_owned()),
                network_mode: Some("host".to_owned()),
                extra_hosts: Some(vec!["a:1.2.3.4".to_owned()]),
                binds: Some(vec![format!("{}:/data:ro", machine.folder())]),
                ..HostConfig::default()
            }),
            ..ContainerCreateBody::default()
        };
        machine.raw().create_container(Some(options), body).await.unwrap();
        let facts = scene.facts(&name).await;
        let told = ["log options", "network namespace host", "pid namespace host"];
        for what in told {
            assert!(facts.foreign.iter().any(|found| found == what), "{what}: {:?}", facts.foreign);
        }
        assert!(facts.surroundings.tty);
        assert_eq!(facts.surroundings.extra_hosts[0].name, "a");
        assert!(facts.mounts.len() == 1 && facts.mounts[0].read_only);
        assert_eq!((facts.drops_all, facts.no_new_privileges), (false, false));
    })
    .await;
}

#[tokio::test]
async fn a_limit_changed_by_hand_is_seen() {
    on_stage(async |machine, scene| {
        let mut wanted = scene.container("one", Program::Serve).await;
        wanted.memory_bytes = Some(64 * 1024 * 1024);
        let id = scene.run(&wanted).await;
        let update = ContainerUpdateBody {
            memory: Some(32 * 1024 * 1024),
            memory_swap: Some(32 * 1024 * 1024),
            restart_policy: Some(RestartPolicy {
                name: Some(RestartPolicyNameEnum::ALWAYS),
                maximum_retry_count: None,
            }),
            ..ContainerUpdateBody::default()
        };
        machine.raw().update_container(&id, update).await.unwrap();
        let facts = scene.facts(&wanted.name).await;
        assert_eq!((facts.memory_bytes, facts.restart), (Some(32 * 1024 * 1024), None));
        assert_eq!(facts.foreign, ["memory and swap 33554432"]);
    })
    .await;
}

#[tokio::test]
async fn a_container_renamed_by_hand_is_not_there_under_its_name() {
    on_stage(async |machine, scene| {
        let wanted = scene.container("one", Program::Serve).await;
        let id = scene.create(&wanted).await;
        let other = scene.name("other");
        let options = RenameContainerOptionsBuilder::default().name(&other).build();
        machine.raw().rename_container(&id, options).await.unwrap();
        assert_eq!(Containers::inspect(machine.hand(), &wanted.name).await, Ok(None));
        let listed = Containers::list(machine.hand()).await.unwrap();
        assert!(listed.iter().any(|entry| entry.id == id && entry.name == other));
    })
    .await;
}

#[tokio::test]
async fn an_anonymous_volume_goes_with_its_container() {
    on_stage(async |machine, scene| {
        let id = scene.run(&scene.container("one", Program::Serve).await).await;
        let seen = machine.raw().inspect_container(&id, None).await.unwrap();
        let mounts: Vec<MountPoint> = seen.mounts.unwrap_or_default();
        let volume = mounts[0].name.clone().unwrap();
        assert_eq!(mounts[0].destination.as_deref(), Some("/kept"));
        scene.containers().remove(&id).await.unwrap();
        let filters = std::collections::HashMap::from([("name", vec![volume.as_str()])]);
        let options = ListVolumesOptionsBuilder::default().filters(&filters).build();
        let left = machine.raw().list_volumes(Some(options)).await.unwrap();
        assert_eq!(left.volumes.unwrap_or_default().len(), 0);
    })
    .await;
}

#[tokio::test]
async fn two_networks_of_one_name_are_told_as_a_conflict() {
    on_stage(async |machine, scene| {
        let name = scene.name("net");
        let request = || NetworkCreateRequest { name: name.clone(), ..NetworkCreateRequest::default() };
        let first = machine.raw().create_network(request()).await.unwrap().id;
        // Newer versions of Docker refuse the second.
        if let Ok(second) = machine.raw().create_network(request()).await {
            let answer = Networks::inspect(machine.hand(), &name).await;
            machine.raw().remove_network(&second.id).await.unwrap();
            assert!(matches!(answer, Err(Fault::Conflict(_))), "{answer:?}");
        }
        machine.raw().remove_network(&first).await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn an_empty_command_runs_the_entry_point_alone_or_is_refused() {
    on_stage(async |_, scene| {
        let mut wanted = scene.container("one", Program::Serve).await;
        wanted.entrypoint = wanted.command.replace(Vec::new());
        scene.run(&wanted).await;
        let facts = scene.facts(&wanted.name).await;
        assert_eq!((Some(facts.entrypoint), Some(facts.command)), (wanted.entrypoint, wanted.command));
        assert!(facts.state.running);
        let mut nothing = scene.container("two", Program::Serve).await;
        nothing.command = Some(Vec::new());
        let answer = scene.containers().create(&nothing).await;
        assert!(matches!(answer, Err(Fault::Refused(_))), "{answer:?}");
    })
    .await;
}
