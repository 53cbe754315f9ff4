"""botocore itself, asked what it would do: a real DynamoDB client with its own retry classes, on a virtual clock and without a network.

Run as a program, with the release to be asked first on PYTHONPATH. It reads one JSON request per line and writes one JSON answer per
line; it does not know the simulator.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from typing import Any

import botocore  # type: ignore[import-untyped,unused-ignore]  # it ships no types
import botocore.endpoint  # type: ignore[import-untyped,unused-ignore]
import botocore.session  # type: ignore[import-untyped,unused-ignore]
from botocore import UNSIGNED
from botocore.awsrequest import AWSResponse  # type: ignore[import-untyped,unused-ignore]
from botocore.config import Config  # type: ignore[import-untyped,unused-ignore]
from botocore.exceptions import ConnectTimeoutError, EndpointConnectionError, ReadTimeoutError  # type: ignore[import-untyped,unused-ignore]
from botocore.retries import adaptive, bucket, standard  # type: ignore[import-untyped,unused-ignore]

WAIT_MIN_S = 1e-6  # a wait for a token moves the clock by no less: real clocks move too
EXCEPTIONS = {
    "read-timeout": ReadTimeoutError,
    "connect-timeout": ConnectTimeoutError,
    "refused": EndpointConnectionError,
}
STATUS = {"InternalServerError": 500, "ServiceUnavailable": 503, "ReplicatedWriteConflictException": 409}


class Clock:
    """The time that botocore's classes see."""

    now_s = 0.0

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds


class Silent:
    """Body of an answer that is there already."""

    def stream(self, **_: object) -> Iterator[bytes]:
        return iter(())


CLOCK = Clock()
MADE: dict[str, Any] = {}  # handlers that the last client registered, by mode
SESSION = botocore.session.Session()
SESSION.set_credentials("none", "none")


def keep(module: Any, name: str) -> None:
    """Note what ``register_retry_handler`` of a module returns."""
    register = module.register_retry_handler

    def registered(*args: Any, **kwargs: Any) -> Any:
        MADE[name] = register(*args, **kwargs)
        return MADE[name]

    module.register_retry_handler = registered


def make_client(mode: str, max_attempts: int | None) -> Any:
    MADE.clear()
    retries: dict[str, Any] = {"mode": mode}
    if max_attempts is not None:
        retries["total_max_attempts"] = max_attempts
    config = Config(retries=retries, signature_version=UNSIGNED, parameter_validation=False)
    client = SESSION.create_client(
        "dynamodb", region_name="us-east-1", endpoint_url="http://127.0.0.1:1", config=config
    )
    if "adaptive" in MADE:
        condition = MADE["adaptive"]._token_bucket._new_fill_rate_condition
        condition.wait = lambda seconds: CLOCK.sleep(max(seconds, WAIT_MIN_S))
    return client


def answer(name: str) -> AWSResponse:
    if name in EXCEPTIONS:
        raise EXCEPTIONS[name](endpoint_url="http://127.0.0.1:1", error="none")
    status = 200 if name == "ok" else STATUS.get(name, 400)
    response = AWSResponse("http://127.0.0.1:1", status, {}, Silent())
    body = {} if name == "ok" else {"__type": f"com.amazonaws.dynamodb.v20120810#{name}", "message": ""}
    response._content = json.dumps(body).encode()
    return response


def limiter_state() -> dict[str, Any]:
    limiter = MADE["adaptive"]
    cubic = limiter._rate_adjustor.get_params_snapshot()
    tokens = limiter._token_bucket
    return {
        "enabled": limiter._enabled,
        "measured": limiter._rate_clocker.measured_rate,
        "fill": tokens.max_rate,
        "capacity": tokens.max_capacity,
        "tokens": tokens.available_capacity,
        "w_max": cubic.w_max,
        "k": cubic.k,
        "last_throttle": cubic.last_fail,
    }


def run(
    mode: str,
    requests: list[dict[str, Any]],
    draws: list[float],
    latency_s: float,
    start_s: float,
    max_attempts: int | None = None,
) -> dict[str, Any]:
    """Requests one after the other through a client: each waits its gap, then gets its answers in order and "ok" after them."""
    CLOCK.now_s = start_s
    client = make_client(mode, max_attempts)
    sent: list[float] = []
    states: list[Any] = []
    delays: list[float] = []
    left: list[str] = []
    chance = iter(draws)

    def reply(**_: Any) -> AWSResponse:
        sent.append(CLOCK.now_s)
        CLOCK.sleep(latency_s)
        return answer(left.pop(0) if left else "ok")

    def sleep(seconds: float) -> None:
        delays.append(seconds)
        CLOCK.sleep(seconds)

    client.meta.events.register_last("before-send", reply)
    if "adaptive" in MADE:
        client.meta.events.register_last("needs-retry", lambda **_: states.append(limiter_state()))
    botocore.endpoint.time.sleep = sleep
    handler = MADE.get("standard")
    if handler is not None:
        handler._retry_policy._retry_backoff._random = lambda: next(chance)
    records = []
    for request in requests:
        CLOCK.sleep(request["gap_s"])
        left[:] = request["answers"]
        for kept in (sent, delays, states):
            kept.clear()
        try:
            client.put_item(TableName="t", Item={"pk": {"S": "k"}})
            succeeded = True
        except Exception:
            succeeded = False
        records.append(
            {
                "succeeded": succeeded,
                "sent_s": list(sent),
                "delays_s": list(delays),
                "tokens": None if handler is None else handler._retry_quota._quota.available_capacity,
                "limiter": list(states),
            }
        )
    return {"requests": records, "end_s": CLOCK.now_s}


def quota(mode: str, steps: list[tuple[int, str]]) -> list[tuple[bool | None, int]]:
    """What the quota says to (request, answer) in any order of requests: (granted, tokens left) after each."""
    client = make_client(mode, None)
    checker = MADE["standard"]._retry_quota
    operation = client.meta.service_model.operation_model("PutItem")
    contexts: dict[int, dict[str, Any]] = {}
    said = []
    for request, name in steps:
        context = contexts.setdefault(request, {})
        granted = None
        if name == "ok":
            checker.release_retry_quota(context, http_response=answer("ok"))
            del contexts[request]
        else:
            caught: Exception | None = None
            response: AWSResponse | None = None
            try:
                response = answer(name)
            except Exception as error:
                caught = error
            granted = checker.acquire_retry_quota(
                standard.RetryContext(
                    attempt_number=1,
                    operation_model=operation,
                    parsed_response=None if caught else {"Error": {"Code": name}},
                    http_response=response,
                    caught_exception=caught,
                    request_context=context,
                )
            )
        said.append((granted, checker._quota.available_capacity))
    return said


def main() -> None:
    keep(adaptive, "adaptive")
    keep(standard, "standard")
    bucket.Clock.current_time = lambda self: CLOCK.now_s

    class Time:
        sleep = staticmethod(CLOCK.sleep)

    botocore.endpoint.time = Time
    actions: dict[str, Callable[..., Any]] = {"run": run, "quota": quota, "version": lambda: botocore.__version__}
    for line in sys.stdin:
        request = json.loads(line)
        print(json.dumps(actions[request.pop("do")](**request)), flush=True)


if __name__ == "__main__":
    main()
