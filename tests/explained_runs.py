"""Small runs, one for each situation that the explanation, the report and the picture must tell. Each is run once."""

from __future__ import annotations

from functools import cache

import sim
from sim import Result

USERS = "[fields]\nuser = { kind = 'uniform', count = 100000 }\n"
ON_DEMAND = "[table]\nname = 't'\nmode = 'on-demand'\npk = "
PROVISIONED = "[table]\nname = 't'\nmode = 'provisioned'\npk = "


def put(rate: str, extra: str = "", name: str = "put") -> str:
    """A pattern that puts items of one write unit."""
    return f"[[traffic]]\nname = '{name}'\noperation = 'PutItem'\nrate = {rate}\n{extra}\n"


def divided(admission: str) -> str:
    """100 read units/s over three partitions that are asked for 80, 10 and 10."""
    reads = "".join(
        f"[[traffic]]\nname = 'p{k}'\noperation = 'GetItem'\nconsistent = true\narrivals = 'even'\npartition = {k}\nrate = {rate}\n"
        for k, rate in enumerate((80, 10, 10))
    )
    table = PROVISIONED + "'K'\nread_capacity = 100\nwrite_capacity = 10\npartitions = 3\nburst_at_start = 0\n"
    return f"duration = '1h'\nadmission = '{admission}'\n{table}{reads}"


SALE = "{ kind = 'spike', base = 1000, peak = 10000, at = '10m', lasting = '40m' }"
LOCAL_INDEX = "[[table.lsi]]\nname = 'byDate'\nsk = '{user}'\nprojection = 'KEYS_ONLY'\nprojected_bytes = 100\n"

SCALED = "{ write = { min = 5, max = %s, target_utilization = 0.7 } }"

SCENARIOS = {
    "auto-scaled": "duration = '15m'\n"
    + USERS
    + PROVISIONED
    + "'USER#{user}'\nread_capacity = 5\nwrite_capacity = 50\nburst_at_start = 0\nautoscaling = "
    + SCALED % 90
    + "\n"
    + put("100", "arrivals = 'even'")
    + "[[event]]\nat = '12m'\nwrite_capacity = 50000\n",
    "morning": "duration = '90m'\nstart = '2026-01-05T07:00:00Z'\n"
    + USERS
    + PROVISIONED
    + "'USER#{user}'\nread_capacity = 5\nwrite_capacity = 50\nautoscaling = "
    + SCALED % 500
    + "\n"
    + put("[['0s', 10], ['1h', 300]]", "arrivals = 'even'"),
    "spike-of-a-minute": "duration = '10m'\n"
    + USERS
    + PROVISIONED
    + "'USER#{user}'\nread_capacity = 5\nwrite_capacity = 50\nautoscaling = "
    + SCALED % 500
    + "\n"
    + put("{ kind = 'spike', base = 26, peak = 500, at = '5m', lasting = '1m' }", "arrivals = 'even'"),
    "warmed-late": "duration = '50m'\n"
    + USERS
    + ON_DEMAND
    + "'USER#{user}'\n"
    + put("{ kind = 'spike', base = 900, peak = 9000, at = '30m', lasting = '15m' }")
    + "[[event]]\nat = '25m'\nwarm_write = 12000\n",
    "one-item": "duration = '30m'\n" + ON_DEMAND + "'STATS#global'\n" + put("1500"),
    "sharded-item": "duration = '30m'\n[fields]\nshard = { kind = 'uniform', count = 3 }\n"
    + ON_DEMAND
    + "'STATS#{shard}'\n"
    + put("1500"),
    "ten-suffixes": "duration = '30m'\n[fields]\nshard = { kind = 'uniform', count = 10 }\n"
    + ON_DEMAND
    + "'STATS#{shard}'\n"
    + put("10000"),
    "flash-sale": "title = 'Flash sale'\nduration = '1h'\n" + USERS + ON_DEMAND + "'USER#{user}'\n" + put(SALE),
    "flash-sale-warmed": "duration = '1h'\n" + USERS + ON_DEMAND + "'USER#{user}'\nwarm_write = 15000\n" + put(SALE),
    "short-sale": "duration = '5m'\n" + USERS + ON_DEMAND + "'USER#{user}'\n" + put("6000"),
    "ramp": "duration = '70m'\n"
    + USERS
    + ON_DEMAND
    + "'USER#{user}'\nprevious_peak_write = 10000\n"
    + put("{ kind = 'ramp', from = 1000, to = 35000, over = '40m' }"),
    "burst": "duration = '30m'\n"
    + USERS
    + PROVISIONED
    + "'USER#{user}'\nread_capacity = 10\nwrite_capacity = 150\n"
    + put("200", "arrivals = 'even'"),
    "burst-suffices": "duration = '10m'\n"
    + USERS
    + PROVISIONED
    + "'USER#{user}'\nread_capacity = 10\nwrite_capacity = 150\n"
    + put("200", "arrivals = 'even'"),
    "burst-gathered": "duration = '50m'\n"
    + USERS
    + PROVISIONED
    + "'USER#{user}'\nread_capacity = 10\nwrite_capacity = 100\nburst_at_start = 0\n"
    + put("[['0s', 20], ['5m', 300], ['10m', 20], ['40m', 300], ['45m', 10]]", "arrivals = 'even'"),
    "local-index": "duration = '30m'\n"
    + USERS
    + ON_DEMAND
    + "'TENANT#big'\nsk = 'ORDER#{user}'\n"
    + LOCAL_INDEX
    + put("1800", "touches = []"),
    "collection": "duration = '30m'\n" + USERS + ON_DEMAND + "'TENANT#big'\nsk = 'ORDER#{user}'\n" + put("1800"),
    "growing-sort-key": "duration = '30m'\n[fields]\nseq = { kind = 'sequence' }\n"
    + ON_DEMAND
    + "'LOG#app'\nsk = '{seq}'\n"
    + put("1800"),
    "date-key": "duration = '2h'\nstart = '2026-01-01T23:00:00Z'\n[fields]\nday = { kind = 'clock', format = '%Y-%m-%d' }\n"
    + "seq = { kind = 'sequence' }\n"
    + ON_DEMAND
    + "'DATE#{day}'\nsk = '{seq}'\n"
    + put("1400"),
    "quota": "duration = '10m'\n" + USERS + ON_DEMAND + "'USER#{user}'\nwarm_write = 40000\n" + put("50000"),
    "maximum": "duration = '10m'\n"
    + USERS
    + ON_DEMAND
    + "'USER#{user}'\nmax_write = 500\n"
    + put("800", "arrivals = 'even'"),
    "viral-read": "duration = '30m'\n"
    + PROVISIONED
    + "'POST#viral'\nread_capacity = 20000\nwrite_capacity = 100\n"
    + "[[traffic]]\nname = 'get'\noperation = 'GetItem'\nrate = 7200\nconsistent = true\n"
    + "[[traffic]]\nname = 'like'\noperation = 'UpdateItem'\nrate = 50\n",
    "mostly-idle": "duration = '1h'\n"
    + USERS
    + PROVISIONED
    + "'USER#{user}'\nread_capacity = 1000\nwrite_capacity = 500\n"
    + "[[traffic]]\nname = 'get'\noperation = 'GetItem'\nrate = 200\narrivals = 'even'\n"
    + put("60", "arrivals = 'even'"),
    "calm": "duration = '1h'\n" + USERS + ON_DEMAND + "'USER#{user}'\n" + put("2000"),
    "nobody": "duration = '5m'\n" + ON_DEMAND + "'K'\n" + put("0"),
    "failures": "duration = '10m'\n"
    + USERS
    + PROVISIONED
    + "'USER#{user}'\nread_capacity = 10\nwrite_capacity = 300\nburst_at_start = 0\n"
    + put("1", "item_bytes = 500000\narrivals = 'even'", "huge")
    + put("10", "condition_fails = 0.25", "once")
    + "[[traffic]]\nname = 'bulk'\noperation = 'BatchWriteItem'\nbatch = 25\nrate = 20\n",
    "divided-static": divided("static"),
    "divided-2017": divided("adaptive-2017"),
    "divided-instant": divided("instant"),
    "thousand": "duration = '20m'\n[fields]\nuser = { kind = 'zipf', count = 100000, exponent = 1.0 }\n"
    + "[account]\ntable_write = 1000000\n"
    + ON_DEMAND
    + "'USER#{user}'\nwarm_write = 1000000\n"
    + put("20000"),
    "ten-seconds": "duration = '10s'\nperiod = '1s'\n" + USERS + ON_DEMAND + "'USER#{user}'\n" + put("6000"),
    "month": "duration = '30d'\ntick = '5m'\nperiod = '1h'\n"
    + USERS
    + ON_DEMAND
    + "'USER#{user}'\n"
    + put("{ kind = 'diurnal', mean = 1000, peak = 1900, peak_at = '20:00' }"),
    "suffixes-that-collide": "duration = '30m'\n[fields]\nshard = { kind = 'uniform', count = 10 }\n"
    + ON_DEMAND
    + "'S#{shard}'\n"
    + put("3500"),
    "near-another-limit": "duration = '10m'\n"
    + USERS
    + ON_DEMAND
    + "'USER#{user}'\n"
    + put("8000", name="sensors")
    + "[[traffic]]\nname = 'dashboard'\noperation = 'GetItem'\npk = 'DASHBOARD#main'\nrate = 5000\n",
    "retry-storm": "level = 'request'\nduration = '3m'\n"
    + USERS
    + PROVISIONED
    + "'USER#{user}'\nread_capacity = 10\nwrite_capacity = 60\nburst_at_start = 0\n"
    + put("120", "[traffic.client]\nretry = 'legacy'\nrate_limit = { write = 1000 }"),
    "short-spike": "duration = '24h'\n"
    + USERS
    + ON_DEMAND
    + "'USER#{user}'\nwarm_write = 30000\n"
    + put("[['0s', 100], ['12h', 20000], ['730m', 100]]", "arrivals = 'even'"),
    "hostile-names": "title = '<script>alert(1)</script>'\nduration = '2m'\n"
    + ON_DEMAND
    + "'<script>KEY'\n"
    + put("1500", name="<script>"),
    "odd-names": "title = 'Cost [bold] $x$ and $y$'\nduration = '2m'\n"
    + ON_DEMAND
    + '"[red]KEY\\u001b[31m$é"\n'
    + put("1500").replace("'put'", '"[b]put[/b]\\u001b[31m"'),
}


@cache
def run_of(name: str) -> Result:
    """The result of one of the scenarios."""
    return sim.run(sim.loads("format = 1\nseed = 1\n" + SCENARIOS[name]))
