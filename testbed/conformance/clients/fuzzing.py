"""What schemathesis is told besides: a watch without an end would be one."""

import schemathesis


@schemathesis.hook
def before_call(context, case, kwargs):
    if "watch" in (case.query or {}):
        case.query["timeoutSeconds"] = "1"
