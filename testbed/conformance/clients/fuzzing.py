"""What schemathesis is told besides.

A watch without an end would be one, so each ends after a second. And where HEARTH_FUZZ_PLANTED names words that stand
in everything of a namespace that whoever asks may not look into, many requests are sent there, and no answer may have one
of the words that its request did not say itself.
"""

import base64
import os
import zlib

import schemathesis

PLANTED = os.environ.get("HEARTH_FUZZ_PLANTED", "").encode().split()
# The namespace of others, and what lies there.
OTHERS = os.environ.get("HEARTH_FUZZ_OTHERS", "")
NAMES = os.environ.get("HEARTH_FUZZ_NAMES", "").split()
OWN = os.environ.get("HEARTH_FUZZ_OWN", "")


@schemathesis.hook
def before_call(context, case, kwargs):
    if "watch" in (case.query or {}):
        case.query["timeoutSeconds"] = "1"
    if PLANTED:
        aim(case)


def aim(case):
    """Half of all requests go to what is others', a quarter to one's own: at random nobody would ever find either."""
    places = case.path_parameters or {}
    throw = zlib.crc32(repr((case.path, sorted(places.items()), case.query)).encode())
    if "namespace" in places and throw % 4 < 3:
        places["namespace"] = OTHERS if throw % 4 < 2 else OWN
    if "name" in places and NAMES and throw % 8 < 5:
        places["name"] = NAMES[throw // 8 % len(NAMES)]
    if case.query is not None and throw % 16 == 7:
        case.query["fieldSelector"] = f"metadata.namespace={OTHERS}"


@schemathesis.check
def not_the_servers_fault(context, response, case):
    """A version that was never given out here, such as one of an event, is answered with 504, as the protocol has it."""
    is_ahead = response.status_code == 504 and b"ResourceVersionTooLarge" in response.content
    assert response.status_code < 500 or is_ahead, f"{response.status_code}: {response.text[:2000]}"


@schemathesis.check
def nothing_of_others(context, response, case):
    request = response.request
    body = request.body if isinstance(request.body, bytes) else str(request.body or "").encode()
    said = f"{request.url}".encode() + body
    told = response.content + repr(dict(response.headers)).encode()
    for word in PLANTED:
        for form in (word, base64.b64encode(word).rstrip(b"=")):
            assert form in said or form not in told, f"what is others' was told: {response.text[:2000]}"
