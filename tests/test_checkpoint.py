"""A fit that was killed goes on where it was, and ends in the same bits."""

import errno
import os
import subprocess
import sys
import warnings

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import gptm
from gptm import CTM, GPTM
from gptm import kernels as k
from gptm.storage import checkpoint_file
from gptm.storage.checkpoint_file import CheckpointFile, kept_until_saved, seconds
from test_golden import FITS, documents

COUNTS, METADATA = documents()


class Crash(BaseException):
    """What no code of ours catches, as a kill is."""


def fit(model, path=None, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(COUNTS, metadata=METADATA, checkpoint=path, every=0, **options)


def crash_at(monkeypatch, number):
    """Die right after the given time of writing."""
    write, times = CheckpointFile.write, []

    def dying(self, phase, tree):
        write(self, phase, tree)
        times.append(phase)
        if len(times) == number:
            raise Crash

    monkeypatch.setattr(CheckpointFile, "write", dying)
    return times


def same(one, other):
    """Whether all that two fits know has the same bits."""
    for name in ("components", "mu", "Sigma", "B", "lam", "nu2", "F", "alpha", "trace"):
        assert_array_equal(getattr(one.fitted_, name), getattr(other.fitted_, name), err_msg=name)
    assert one.fitted_.reason == other.fitted_.reason
    if one.fitted_.draws is not None:
        assert_array_equal(one.fitted_.draws.logits, other.fitted_.draws.logits)
        for name, values in one.fitted_.watched.items():
            assert_array_equal(values, other.fitted_.watched[name])


@pytest.mark.parametrize("name", FITS)
def test_a_fit_goes_on_after_every_kind_of_write(name, tmp_path, monkeypatch):
    path, expected = tmp_path / "work", fit(FITS[name]())
    with monkeypatch.context() as patch:
        phases = crash_at(patch, -1)
        same(fit(FITS[name](), path), expected)
    assert {"start"} < set(phases)
    last_start = max(i for i, phase in enumerate(phases) if phase == "start") + 1
    moments = {1, last_start // 2, last_start, last_start + 1, last_start + 7, len(phases)}
    for number in moments & set(range(len(phases) + 1)):
        with monkeypatch.context() as patch:
            crash_at(patch, number)
            with pytest.raises(Crash):
                fit(FITS[name](), path)
        assert path.exists()
        same(fit(FITS[name](), path), expected)
        assert not path.exists()


def test_a_fit_may_crash_again_and_again(tmp_path, monkeypatch):
    path, expected = tmp_path / "work", fit(FITS["sum"]())
    for _ in range(4):
        with monkeypatch.context() as patch:
            crash_at(patch, 12)
            with pytest.raises(Crash):
                fit(FITS["sum"](), path)
    same(fit(FITS["sum"](), path), expected)


def test_without_a_seed_the_drawn_one_is_kept(tmp_path, monkeypatch):
    path = tmp_path / "work"
    with monkeypatch.context() as patch:
        crash_at(patch, 30)
        with pytest.raises(Crash):
            fit(CTM(3, max_iter=20), path)
    kept = path.read_bytes()
    first = fit(CTM(3, max_iter=20), path)
    path.write_bytes(kept)
    same(fit(CTM(3, max_iter=20), path), first)


def test_an_interrupt_leaves_a_checkpoint(tmp_path):
    path, expected = tmp_path / "work", fit(FITS["sampling"]())

    def interrupt(number, state):
        if number == 9:
            raise KeyboardInterrupt

    model = FITS["sampling"]().set_params(callback=interrupt)
    with pytest.warns(UserWarning, match="same checkpoint continues"):
        model.fit(COUNTS, metadata=METADATA, checkpoint=path)
    assert model.stop_reason_ == "interrupt"
    same(fit(FITS["sampling"](), path), expected)


CHANGES = {
    "settings": (lambda model: model.set_params(n_components=4), {}, "n_components was 3"),
    "kernel": (lambda model: model.set_params(kernel=k.RBF("year")), {}, "kernel was"),
    "documents": (lambda model: model, {"X": COUNTS[::-1]}, "other documents"),
    "metadata": (
        lambda model: model,
        {"metadata": METADATA.assign(source=METADATA["source"].to_numpy()[::-1])},
        "metadata",
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_other_work_is_refused_and_the_difference_named(name, tmp_path, monkeypatch):
    path = tmp_path / "work"
    change, given, message = CHANGES[name]
    with monkeypatch.context() as patch:
        crash_at(patch, 40)
        with pytest.raises(Crash):
            fit(FITS["sampling"](), path)
    before = path.read_bytes()
    data = {"X": COUNTS, "metadata": METADATA} | given
    with pytest.raises(ValueError, match=message):
        change(FITS["sampling"]()).fit(**data, checkpoint=path)
    assert path.read_bytes() == before


def test_another_version_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "work"
    with monkeypatch.context() as patch:
        patch.setattr("gptm.storage.checkpoint_file.VERSION", "0.0.7")
        crash_at(patch, 3)
        with pytest.raises(Crash):
            fit(FITS["ctm"](), path)
    with pytest.raises(ValueError, match=r"gptm 0\.0\.7 wrote it"):
        fit(FITS["ctm"](), path)


def test_threads_may_change_on_the_way(tmp_path, monkeypatch):
    path, expected = tmp_path / "work", fit(FITS["chains"]())
    with monkeypatch.context() as patch:
        crash_at(patch, 60)
        with pytest.raises(Crash):
            fit(FITS["chains"](), path)
    same(fit(FITS["chains"]().set_params(n_jobs=2, verbose=0), path), expected)


@pytest.mark.parametrize("damage", ["cut", "flip", "text", "model"])
def test_a_damaged_checkpoint_is_refused(damage, tmp_path, monkeypatch):
    path = tmp_path / "work"
    with monkeypatch.context() as patch:
        crash_at(patch, 50)
        with pytest.raises(Crash):
            fit(FITS["ctm"](), path)
    data = bytearray(path.read_bytes())
    if damage == "cut":
        path.write_bytes(data[: len(data) // 2])
    elif damage == "flip":
        data[-5] ^= 1
        path.write_bytes(data)
    elif damage == "text":
        path.write_text("my diary")
    else:
        fit(FITS["ctm"]()).save(path)
    kept = path.read_bytes()
    with pytest.raises(ValueError, match="not a checkpoint of gptm, or is damaged"):
        fit(FITS["ctm"](), path)
    assert path.read_bytes() == kept


def test_where_nothing_can_be_written_the_fit_goes_on(tmp_path):
    path = tmp_path / "nowhere" / "work"
    with pytest.warns(UserWarning, match="cannot be written") as told:
        model = CTM(3, max_iter=5, random_state=0).fit(COUNTS, checkpoint=path, every=0)
    assert sum("cannot be written" in str(one.message) for one in told) == 1
    same(model, fit(CTM(3, max_iter=5, random_state=0)))


def test_a_disk_that_has_room_again_gets_a_checkpoint(tmp_path, monkeypatch):
    path, replace, times = tmp_path / "work", checkpoint_file.replace_file, []

    def full_at_first(*arguments, **settings):
        times.append(1)
        if len(times) < 4:
            raise OSError(errno.ENOSPC, "No space left on device")
        replace(*arguments, **settings)

    monkeypatch.setattr(checkpoint_file, "replace_file", full_at_first)
    crash_at(monkeypatch, 9)
    with pytest.warns(UserWarning, match="tries again later") as told, pytest.raises(Crash):
        FITS["ctm"]().fit(COUNTS, metadata=METADATA, checkpoint=path, every=0)
    assert sum("cannot be written" in str(one.message) for one in told) == 1
    monkeypatch.undo()
    assert path.exists()
    same(fit(FITS["ctm"](), path), fit(FITS["ctm"]()))


def test_a_model_that_cannot_be_saved_is_not_lost(tmp_path):
    path = tmp_path / "work"
    models = []

    def fit_and_die():
        with kept_until_saved():
            models.append(fit(FITS["ctm"](), path))
            raise Crash

    with pytest.raises(Crash):
        fit_and_die()
    assert path.exists()
    with kept_until_saved():
        same(fit(FITS["ctm"](), path), models[0])
        assert path.exists()
    assert not path.exists()


def test_durations():
    assert seconds("60s") == seconds(60) == seconds("1min") == 60.0
    for wrong in ("soon", -1, None, np.inf, "-5s"):
        with pytest.raises(ValueError, match="every must be a duration"):
            seconds(wrong)


def test_an_interrupt_before_the_first_sweep_keeps_the_earlier_fit(monkeypatch):
    model = fit(FITS["sampling"]())
    before = model.fitted_

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("gptm.starts.lda._hot.gibbs_sweep", interrupted)
    with pytest.warns(UserWarning, match="the earlier fit is kept"):
        model.fit(COUNTS, metadata=METADATA)
    assert model.fitted_ is before


PROGRAM = """
import os, random, signal, sys, time, warnings
sys.path.insert(0, {tests!r})
warnings.simplefilter("ignore")
from test_golden import FITS, documents
counts, metadata = documents()

def fit(saved):
    model = FITS["chains"]().set_params(max_iter=60)
    model.fit(counts, metadata=metadata, checkpoint={path!r}, every={every})
    model.save(saved)

FITS["chains"]().set_params(max_iter=2).fit(counts, metadata=metadata)  # compiled by now
rng, kills, finished, resumed, torn, killed = random.Random(0), 0, 0, 0, 0, True
while kills < {kills} or killed:  # the last one comes to its end
    before = os.path.exists({path!r})
    child = os.fork()
    if child == 0:
        fit(f"{models}/{{finished}}.gptm")
        os._exit(0)
    if kills < {kills}:
        time.sleep(rng.uniform(0.0, {longest}))
        os.kill(child, signal.SIGKILL)
    status = os.waitpid(child, 0)[1]
    killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
    assert killed or status == 0, status
    kills, finished, resumed = kills + killed, finished + (not killed), resumed + (before and killed)
    torn += os.path.exists({waiting!r})
print(kills, finished, resumed, torn)
"""
KILLS = 50  # for each pause between two writes: a hundred together


@pytest.mark.full_chains
@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes cannot be forked here")
@pytest.mark.parametrize("every", [0, 0.05])
def test_a_process_that_is_killed_goes_on(every, tmp_path):
    """Fifty kills before a fit is done, at random moments. Where a fit was faster, the next one begins."""
    path, models = tmp_path / "work", tmp_path / "models"
    models.mkdir()
    program = PROGRAM.format(
        tests=os.path.dirname(__file__),
        path=str(path),
        waiting=str(tmp_path / ".work.tmp"),
        models=models,
        every=every,
        kills=KILLS,
        longest=0.3,
    )
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    kills, finished, resumed, torn = map(int, done.stdout.split())
    assert kills == KILLS  # each took the life of a fit that was not done
    assert resumed > 0  # how many had begun from a checkpoint depends on the machine
    assert torn > 0 or every > 0  # without a pause, some died in the middle of a write
    expected = fit(FITS["chains"]().set_params(max_iter=60))
    for number in range(finished):
        same(gptm.load(models / f"{number}.gptm"), expected)
    assert [file.name for file in tmp_path.iterdir()] == ["models"]


def test_estimators_in_pipelines_need_no_checkpoint():
    assert isinstance(GPTM(2, kernel=None, max_iter=2).fit(COUNTS), GPTM)
