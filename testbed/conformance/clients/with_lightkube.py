#!/usr/bin/env python3
"""lightkube: generic resources, apply, watch, and waiting for a condition."""

import tries
from lightkube import Client
from lightkube.core.exceptions import ApiError
from lightkube.generic_resource import create_namespaced_resource
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.core_v1 import Namespace, Secret
from lightkube.types import CascadeType, PatchType

App = create_namespaced_resource("hearth.dev", "v1", "App", "apps")
client = Client(namespace="household", field_manager="lightkube")


def an_object_is_applied_by_two_and_a_conflict_is_told():
    made = client.apply(App.from_dict(tries.app("light", state="Running")))
    assert made.metadata.generation == 1, made
    assert client.apply(App.from_dict(tries.app("light", state="Running"))).metadata.generation == 1
    try:
        client.apply(App.from_dict(tries.app("light", state="Stopped")), field_manager="other")
        raise AssertionError("what another set was taken without a word")
    except ApiError as refused:
        assert refused.status.code == 409 and refused.status.details.causes[0].field == ".spec.state"
    taken = client.apply(App.from_dict(tries.app("light", state="Stopped")), field_manager="other", force=True)
    assert taken.spec["state"] == "Stopped", taken


def a_watch_goes_on_from_a_list_and_a_patch_is_heard():
    found = client.list(App, fields={"metadata.name": "light"})
    assert [it.metadata.name for it in found] == ["light"]
    client.patch(App, "light", {"metadata": {"labels": {"tier": "b"}}}, patch_type=PatchType.MERGE)
    told = client.watch(
        App, fields={"metadata.name": "light"}, resource_version=found.resourceVersion, server_timeout=20
    )
    labelled = (event for event, seen in told if (seen.metadata.labels or {}).get("tier") == "b")
    assert next(labelled, None) == "MODIFIED"
    assert [it.metadata.name for it in client.list(App, labels={"tier": "b"}, chunk_size=1)] == ["light"]


def a_condition_is_waited_for():
    client.apply(App.from_dict(tries.app("light", state="Running")), field_manager="other", force=True)
    ready = client.wait(App, "light", for_conditions=["Ready"])
    assert ready.metadata.name == "light"


def a_deletion_takes_what_it_owns():
    client.delete(App, "light", cascade=CascadeType.FOREGROUND)
    tries.until(lambda: "light" not in [it.metadata.name for it in client.list(App)])


def typed_objects_of_the_core_group_are_read_and_written():
    client.create(Secret(metadata=ObjectMeta(name="light-key"), stringData={"word": "open"}))
    assert client.get(Secret, "light-key").metadata.name == "light-key"
    client.delete(Secret, "light-key")
    assert "household" in [it.metadata.name for it in client.list(Namespace)]


tries.run(
    an_object_is_applied_by_two_and_a_conflict_is_told,
    a_watch_goes_on_from_a_list_and_a_patch_is_heard,
    a_condition_is_waited_for,
    a_deletion_takes_what_it_owns,
    typed_objects_of_the_core_group_are_read_and_written,
)
