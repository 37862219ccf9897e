"""What every test starts from: 64 bits, strict arithmetic, shapes checked at run time.

Five variables change that, each for a session: `ISTHMUS_CHECK_SHAPES=0` leaves the shapes of
arguments unchecked (faster, shorter tracebacks), `some` checks them in the packages of `MATHEMATICS` alone, as
`make test` does (`make test-other` checks all, which takes a quarter of the time), `ISTHMUS_TEST_CACHE=0`
compiles everything anew, `XLA_FLAGS=` and `ISTHMUS_OPTIMISE=` (empty) let XLA and LLVM optimise as they do for
users, `ISTHMUS_SHARED_DATA=folder` says where the recordings are.
"""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import sys
from collections import Counter
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

os.environ.setdefault("MPLBACKEND", "Agg")  # no test opens a window
# most of our programs run for less time than it takes to optimise them: LLVM is five times faster without, XLA too
os.environ.setdefault("ISTHMUS_OPTIMISE", "0")
if version("jaxlib").startswith("0.10."):  # a version that does not know a flag ends the process
    os.environ.setdefault(
        "XLA_FLAGS",
        "--xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false "
        "--xla_cpu_parallel_codegen_split_count=1 --xla_llvm_disable_expensive_passes=true",
    )

import jax
import pytest
from hypothesis import HealthCheck, settings
from jaxtyping import install_import_hook

REPOSITORY = Path(__file__).resolve().parents[1]
LOOSE = {
    "jax_enable_x64": True,
    "jax_numpy_dtype_promotion": "standard",
    "jax_numpy_rank_promotion": "allow",
}
STRICT = LOOSE | {"jax_numpy_dtype_promotion": "strict", "jax_numpy_rank_promotion": "raise"}
USUAL = LOOSE | {"jax_enable_x64": False}

for name, value in STRICT.items():  # now, because test files build models while they are imported
    jax.config.update(name, value)

MATHEMATICS = (
    "entry",
    "motion",
    "identify",
    "discovery",
    "tracking",
    "excitation",
    "posteriors",
    "verify",
)
"""Packages whose functions say shapes, without those that are called thousands of times while a step is traced."""
check_shapes = os.environ.get("ISTHMUS_CHECK_SHAPES", "1")
if check_shapes != "0":
    assert "isthmus" not in sys.modules, "isthmus was imported before its shapes could be checked"
    parts = sorted(path.stem for path in (REPOSITORY / "isthmus").glob("[a-z]*"))
    # but not native: it works scalar by scalar, where checks would cost more than the work, and has no shapes
    wanted = MATHEMATICS if check_shapes == "some" else [part for part in parts if part != "native"]
    checked = [f"isthmus.{part}" for part in wanted]
    install_import_hook(checked, "beartype.beartype")

gc.set_threshold(
    50_000, 20, 100
)  # tracing makes many small objects that stay: a seventh of the time

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # a shell in the background ignores Ctrl-C, and programs that tests start would inherit that
    with contextlib.suppress(ValueError):  # not in the main thread
        signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile(
    "isthmus",
    derandomize=True,
    deadline=None,  # the first example compiles
    max_examples=40,
    suppress_health_check=[HealthCheck.too_slow],  # so does building a mechanism
)
settings.load_profile("isthmus")


def pytest_configure(config: pytest.Config) -> None:
    """Keep what is compiled beside pytest's own cache, for the next run on this machine; never in the user's."""
    os.environ["ISTHMUS_CACHE"] = "off"
    if os.environ.get("ISTHMUS_TEST_CACHE", "1") != "0":
        folder = config.cache.mkdir("jax") if config.cache else None
        jax.config.update("jax_compilation_cache_dir", folder and str(folder))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
        jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
        os.environ["ISTHMUS_CACHE"] = str(config.cache.mkdir("isthmus")) if config.cache else "off"


@contextlib.contextmanager
def arithmetic(settings: dict[str, bool | str]) -> Iterator[None]:
    """Set JAX's arithmetic for a while; what was changed meanwhile is undone too."""
    before = {name: jax.config.values[name] for name in settings}
    for name, value in settings.items():
        jax.config.update(name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            jax.config.update(name, value)


MOST_PROGRAMS = 20
"""XLA programs that a test may compile, beside single operations of JAX."""
MOST_OPERATIONS = 400
"""The same with single operations, which whoever comes first in a process compiles for all others."""
WHOLE_RUN = 1000
"""Tests in a run from which on they are counted: in a small run, a test also pays for operations that others share."""
_programs: Counter[str] = Counter()


@jax.monitoring.register_event_listener
def _count(event: str, **_: str | int) -> None:
    _programs[event.rpartition("/")[2]] += 1


@jax.monitoring.register_event_duration_secs_listener
def _count_own(event: str, _: float, **about: str | int) -> None:
    name = str(about.get("fun_name", "")).removeprefix("jit(").removesuffix(")")
    if event.endswith("backend_compile_duration") and not _is_operation(name):
        _programs["own"] += 1


def _is_operation(name: str) -> bool:
    return name.startswith("_") or any(hasattr(place, name) for place in (jax.lax, jax.numpy))


def programs_compiled() -> int:
    """XLA programs compiled so far by this process, without those that were found in the tests' cache."""
    return _programs["compile_requests_use_cache"] - _programs["cache_hits"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        mark = item.get_closest_marker("compiles_much")
        if mark and not (mark.args and isinstance(mark.args[0], str)):
            raise pytest.UsageError(f"{item.nodeid}: compiles_much needs a reason, a sentence.")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Fails a test of a whole run that compiles many XLA programs itself, not by fixtures, unless it is marked."""
    before, own = programs_compiled(), _programs["own"]
    result = yield
    count, own = programs_compiled() - before, _programs["own"] - own
    counted = item.session.testscollected >= WHOLE_RUN and not item.get_closest_marker(
        "compiles_much"
    )
    if counted and (min(count, own) > MOST_PROGRAMS or count > MOST_OPERATIONS):
        pytest.fail(
            f"compiled {count} XLA programs, {own} of its own (allowed: {MOST_OPERATIONS} and {MOST_PROGRAMS}): put "
            "jax.jit around what it computes, share it with other tests (tests/compiled.py), or mark the test "
            'compiles_much("why").',
            pytrace=False,
        )
    return result


@pytest.fixture(autouse=True)
def _arithmetic(request: pytest.FixtureRequest) -> Iterator[None]:
    """64 bits; no silent promotion of types or ranks, unless the test is marked `loose`."""
    with arithmetic(LOOSE if request.node.get_closest_marker("loose") else STRICT):
        yield


@pytest.fixture
def as_the_user(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """JAX as it is after `import jax`, an empty working directory, no arguments, no old figures."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["program"])
    with arithmetic(USUAL):
        yield tmp_path
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture
def key() -> jax.Array:
    """The same random key for everybody."""
    return jax.random.key(0)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Recordings by other people, which are not part of the repository."""
    folder = Path(os.environ.get("ISTHMUS_SHARED_DATA", REPOSITORY.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip("the recordings are not here: set ISTHMUS_SHARED_DATA to their folder")
    return folder
