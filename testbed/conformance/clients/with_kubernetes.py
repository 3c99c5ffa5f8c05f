#!/usr/bin/env python3
"""The Python client of the Kubernetes project: its untyped, its dynamic and its typed side."""

import tries
from kubernetes import client, config, dynamic, watch
from kubernetes.client.rest import ApiException

PLACE = {"group": "hearth.dev", "version": "v1", "namespace": "household", "plural": "apps"}

config.load_kube_config()
objects = client.CustomObjectsApi()
core = client.CoreV1Api()


def an_object_is_made_read_changed_and_deleted():
    made = objects.create_namespaced_custom_object(**PLACE, body=tries.app("one"))
    assert made["metadata"]["generation"] == 1, made
    patch = {"metadata": {"labels": {"tier": "a"}}}
    objects.patch_namespaced_custom_object(**PLACE, name="one", body=patch)
    found = objects.list_namespaced_custom_object(**PLACE, label_selector="tier=a")["items"]
    assert [it["metadata"]["name"] for it in found] == ["one"], found
    read, written = stopped("one")
    assert written["metadata"]["generation"] == 2, written
    try:
        objects.replace_namespaced_custom_object(**PLACE, name="one", body=read)
        raise AssertionError("an older version was taken")
    except ApiException as refused:
        assert refused.status == 409, refused
    objects.delete_namespaced_custom_object(**PLACE, name="one")
    tries.until(lambda: not is_there("one"))


def stopped(name):
    """Replaces an app by one that is stopped, anew where its status was written between the look and that."""
    for _ in range(50):
        read = objects.get_namespaced_custom_object(**PLACE, name=name)
        read["spec"]["state"] = "Stopped"
        try:
            return read, objects.replace_namespaced_custom_object(**PLACE, name=name, body=read)
        except ApiException as refused:
            assert refused.status == 409, refused
    raise AssertionError("it was never replaced")


def a_wrong_object_is_told_with_its_field():
    try:
        objects.create_namespaced_custom_object(**PLACE, body=tries.app("wrong", stat="Stopped"))
        raise AssertionError("an unknown field was taken")
    except ApiException as refused:
        assert refused.status == 422 and "spec.stat" in refused.body, refused.body


def a_watch_tells_what_happens_from_a_list_on():
    since = objects.list_namespaced_custom_object(**PLACE)["metadata"]["resourceVersion"]
    objects.create_namespaced_custom_object(**PLACE, body=tries.app("watched"))
    objects.delete_namespaced_custom_object(**PLACE, name="watched")
    told = []
    listing = objects.list_namespaced_custom_object
    for event in watch.Watch().stream(listing, **PLACE, resource_version=since, timeout_seconds=20):
        if event["object"]["metadata"]["name"] == "watched":
            told.append(event["type"])
        if told[-1:] == ["DELETED"]:
            break
    assert told[0] == "ADDED" and told[-1] == "DELETED", told


def the_dynamic_client_finds_kinds_by_discovery_and_applies():
    found = dynamic.DynamicClient(client.ApiClient()).resources.get(api_version="hearth.dev/v1", kind="App")
    wish = tries.app("applied")
    made = found.server_side_apply(body=wish, namespace="household", name="applied", field_manager="me")
    again = found.server_side_apply(body=wish, namespace="household", name="applied", field_manager="me")
    assert made.metadata.uid == again.metadata.uid
    found.delete(name="applied", namespace="household")


def typed_objects_of_the_core_group_are_read_and_written():
    core.create_namespaced_secret(
        "household", client.V1Secret(metadata=client.V1ObjectMeta(name="key"), string_data={"word": "open"})
    )
    read = core.read_namespaced_secret("key", "household")
    assert read.data == {"word": "b3Blbg=="}, read
    core.patch_namespaced_secret("key", "household", {"metadata": {"annotations": {"note": "n"}}})
    core.delete_namespaced_secret("key", "household")
    assert "household" in [it.metadata.name for it in core.list_namespace().items]
    core.list_namespaced_event("household")
    client.EventsV1Api().list_namespaced_event("household")


def it_says_what_it_is_and_what_one_may_do():
    assert int(client.VersionApi().get_code().minor.rstrip("+")) >= 30
    asked = client.V1SelfSubjectAccessReview(
        spec=client.V1SelfSubjectAccessReviewSpec(
            resource_attributes=client.V1ResourceAttributes(
                group="hearth.dev", resource="apps", verb="create", namespace="household"
            )
        )
    )
    assert client.AuthorizationV1Api().create_self_subject_access_review(asked).status.allowed
    assert "hearth.dev" in [it.name for it in client.ApisApi().get_api_versions().groups]


def is_there(name):
    found = objects.list_namespaced_custom_object(**PLACE, field_selector=f"metadata.name={name}")
    return bool(found["items"])


tries.run(
    an_object_is_made_read_changed_and_deleted,
    a_wrong_object_is_told_with_its_field,
    a_watch_tells_what_happens_from_a_list_on,
    the_dynamic_client_finds_kinds_by_discovery_and_applies,
    typed_objects_of_the_core_group_are_read_and_written,
    it_says_what_it_is_and_what_one_may_do,
)
