"""A fit on a dask cluster has the bits of a fit on one machine, whatever happens to the cluster."""

import _thread
import json
import os
import threading

import numpy as np
import pytest
from typer.testing import CliRunner

import gptm
import naive
from dask_network import busy, dask_network, names_of, until
from gptm import GPTM, Corpus
from gptm import kernels as k
from gptm._basics.version import VERSION
from gptm.cli.app import app
from gptm.inference.blocks import dask_cluster, dask_states
from gptm.inference.blocks.dask_cluster import WorkerFacts, check_memory, check_versions, connect
from gptm.inference.blocks.dask_placement import BlockTasks
from gptm.inference.blocks.dask_tasks import read_documents
from gptm.inference.blocks.sums import FAN
from test_block_fit import KERNEL, Stop, same_bits, simulated

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
pytest.importorskip("pyarrow")


def local_cluster(n):
    """Workers in this process, which talk to each other as if they were elsewhere."""
    return distributed.LocalCluster(
        n_workers=n,
        threads_per_worker=1,
        processes=False,
        protocol="tcp",
        dashboard_address=":0",
        memory_limit=0,
    )


@pytest.fixture(scope="module")
def client():
    with local_cluster(2) as cluster, distributed.Client(cluster, set_as_default=False) as client:
        yield client


@pytest.fixture(scope="module")
def blocks(tmp_path_factory):
    folder = simulated(D=600).to_blocks(tmp_path_factory.mktemp("blocks"), block_documents=25)
    return gptm.open_corpus(folder)


def short(kernel=KERNEL, max_iter=16, **settings):
    return GPTM(3, kernel=kernel, max_iter=max_iter, random_state=0, **settings)


@pytest.fixture(scope="module")
def alone(blocks):
    return short().fit(blocks)


# The same bits


@pytest.mark.parametrize("n", [1, 7])
def test_the_same_bits_for_any_number_of_workers(blocks, alone, n):
    with local_cluster(n) as cluster, distributed.Client(cluster, set_as_default=False) as client:
        same_bits(alone, short().fit(blocks, client=client))


def test_the_same_bits_on_two_workers_and_nothing_is_left_there(blocks, alone, client):
    same_bits(alone, short().fit(blocks, client=client))
    until(lambda: not client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks)))


def test_the_same_bits_without_a_kernel_and_from_a_relative_path(blocks, client, monkeypatch):
    monkeypatch.chdir(blocks.path.parent)
    near = gptm.open_corpus(blocks.path.name)
    same_bits(short(None).fit(blocks), short(None).fit(near, client=client))


def test_documents_and_states_travel_where_workers_have_no_path(
    blocks, alone, client, monkeypatch, tmp_path
):
    monkeypatch.setattr(dask_cluster, "is_block_folder", lambda path: False)
    monkeypatch.setattr(dask_cluster, "_writes", lambda folder, token: False)
    same_bits(alone, short().fit(blocks, client=client, checkpoint=tmp_path / "c", every=0))
    monkeypatch.setattr(dask_cluster, "SHIPPED", 1000)
    with pytest.raises(ValueError, match="all machines share"):
        short().fit(blocks, client=client)


@pytest.mark.parametrize("n", [1, 3])
def test_a_few_documents_are_enough(client, tmp_path, n):
    counts = np.array([[2, 1, 0], [0, 1, 3], [1, 1, 1]])[:n]
    few = gptm.open_corpus(gptm.Corpus(counts).to_blocks(tmp_path / "b", block_documents=1))
    same_bits(short(None, 3).fit(few), short(None, 3).fit(few, client=client))


@pytest.mark.parametrize("n", [1, 2, 8, 9, 65, 200])
def test_tasks_add_in_the_order_of_the_tree(n, client):
    class Order(str):
        def plus(self, other):
            return Order(f"({self}{other})")

    parts = [Order(i) for i in range(n)]
    pairs = client.map(lambda i: (None, parts[i]), range(n))
    total = BlockTasks(client, n).total("add", 0, pairs).result()
    assert total == naive.tree_sum(parts, Order.plus, FAN)


def test_what_the_scheduler_remembers_does_not_grow(blocks, client, monkeypatch):
    monkeypatch.setattr(dask_states, "SWEEPS", 4)
    sizes, names = [], set()

    def look(number, state):
        tasks = client.run_on_scheduler(lambda dask_scheduler: list(dask_scheduler.task_prefixes))
        names.update(tasks)
        sizes.append(client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks)))

    short(None, 24, callback=look).fit(blocks, client=client)
    # Tasks are let go of a little later; without cuts there would be three times as many in the end.
    assert max(sizes[-8:]) <= 1.5 * max(sizes[4:12])
    assert {"read-block", "sweep-block", "add-sums", "topics"} <= names  # as dashboards show them


# Interrupts and checkpoints


def test_a_checkpoint_goes_from_the_cluster_to_one_machine_and_back(
    blocks, alone, client, tmp_path
):
    def crash_at(last):
        def crash(number, state):
            if number == last:
                raise Stop

        return crash

    path = tmp_path / "c.checkpoint"
    for last, where in ((5, client), (8, None), (13, client)):
        with pytest.raises(Stop):
            short(callback=crash_at(last)).fit(blocks, checkpoint=path, every=0, client=where)
    numbers = []
    again = short(callback=lambda number, state: numbers.append(number))
    same_bits(alone, again.fit(blocks, checkpoint=path, client=client))
    assert numbers[0] == 13
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_leaves_a_model_and_a_checkpoint(blocks, alone, client, tmp_path):
    def interrupt(number, state):
        if number == 7:  # somewhere in the next sweep
            threading.Timer(0.02, _thread.interrupt_main).start()

    path = tmp_path / "c.checkpoint"
    with pytest.warns(UserWarning, match="interrupted"):
        model = short(callback=interrupt).fit(blocks, checkpoint=path, client=client)
    assert model.stop_reason_ == "interrupt"
    same_bits(alone, short().fit(blocks, checkpoint=path, client=client))


# Faults of real processes


def later(client, name, act):
    """Do something to a worker in the middle of a sweep."""

    def wait():
        until(lambda: busy(client, name) or name not in names_of(client).values())
        act(name)

    threading.Thread(target=wait, daemon=True).start()


@pytest.mark.skipif(os.name == "nt", reason="Windows has no kill -9")
def test_workers_are_killed_cut_off_and_frozen_and_one_joins_late(tmp_path):
    folder = simulated(D=900, length=100).to_blocks(tmp_path / "b", block_documents=30)
    blocks, left = gptm.open_corpus(folder), set()
    with dask_network(bridged=True) as network:
        for name in "abc":
            network.start_worker(name)
        with distributed.Client(network.address, set_as_default=False) as client:
            client.wait_for_workers(3, timeout=200)

            def faults(number, state):
                if number == 2:
                    network.start_worker("late")
                elif number == 4:
                    later(client, "a", network.kill)
                elif number == 7:
                    until(lambda: "late" in names_of(client).values())
                    later(client, "b", network.cut_off)
                elif number == 10:
                    later(client, "c", network.freeze)
                elif number == 15:
                    left.update(names_of(client).values())

            model = short(callback=faults).fit(blocks, client=client)
    assert left == {"late"}
    same_bits(short().fit(blocks), model)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no kill -9")
def test_a_fit_goes_on_after_the_scheduler_was_killed(blocks, alone, tmp_path):
    path, numbers = tmp_path / "c.checkpoint", []
    impatient = {"distributed.comm.timeouts.connect": "2s"}  # with a scheduler that is gone
    with dask_network(bridged=False) as network, dask.config.set(impatient):
        network.start_worker("a")

        def kill(number, state):
            if number == 5:
                network.scheduler.kill()

        with (
            distributed.Client(network.address, set_as_default=False) as client,
            pytest.raises(ConnectionError, match="repeat the same call"),
        ):
            short(callback=kill).fit(blocks, client=client, checkpoint=path, every=0)
        network.start_scheduler()
        network.start_worker("b")
        with distributed.Client(network.address, set_as_default=False) as client:
            model = short(callback=lambda number, state: numbers.append(number))
            same_bits(alone, model.fit(blocks, client=client, checkpoint=path))
    assert numbers[0] >= 4


# The command line


def test_the_command_takes_the_address_of_a_scheduler(blocks, client, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    address, folder = client.scheduler.address, str(blocks.path)
    for name, more in (("here", []), ("there", ["--scheduler", address])):
        command = ["fit", folder, "-t", "3", "--max-iter", "8", "-k", "rbf(year)", *more]
        done = CliRunner().invoke(app, [*command, "-o", f"{name}.gptm"])
        assert done.exit_code == 0, done.output
    same_bits(gptm.load("here.gptm"), gptm.load("there.gptm"))
    (tmp_path / "texts.csv").write_text("text\ngreen tea\n")
    for file, where, said in (
        ("texts.csv", address, "gptm corpus texts.csv"),
        (folder, "tcp://127.0.0.1:9", "--scheduler expects the address of a dask scheduler"),
    ):
        done = CliRunner().invoke(app, ["fit", file, "--scheduler", where])
        assert done.exit_code != 0
        assert said in " ".join(done.output.split())


# What is refused


def test_clients_that_cannot_work_are_refused(blocks, client):
    for wrong in ("tcp://127.0.0.1:8786", 3):
        with pytest.raises(ValueError, match=r"client must be a dask\.distributed\.Client"):
            short().fit(blocks, client=wrong)
    with pytest.raises(ValueError, match="to_blocks"):
        short().fit(simulated(), client=client)
    with distributed.Client(client.scheduler.address, set_as_default=False) as closed:
        pass
    with pytest.raises(ValueError, match="connected"):
        short().fit(blocks, client=closed)


def test_kernels_that_link_documents_are_refused(blocks, client):
    with pytest.raises(ValueError, match="block by block"):
        short(k.NearestNeighbors(5)).fit(blocks, client=client)


def test_a_scheduler_without_workers_is_an_error(blocks, monkeypatch):
    monkeypatch.setattr(dask_cluster, "WAIT", 0.2)
    with (
        local_cluster(0) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
        pytest.raises(ValueError, match="no workers"),
    ):
        short().fit(blocks, client=client)


def test_an_address_that_nobody_answers_is_an_error():
    with pytest.raises(ValueError, match="none answers within"):
        connect("tcp://127.0.0.1:9", 0.3)
    with pytest.raises(ValueError, match="dask scheduler"):
        connect("nonsense", 0.3)


def test_workers_with_another_version_are_refused(blocks, client):
    here = WorkerFacts(VERSION, dask_cluster.libraries(), None, True)
    check_versions({"tcp://a": here})
    with pytest.raises(ValueError, match=r"tcp://b has gptm 0\.0\.1"):
        check_versions({"tcp://a": here, "tcp://b": here._replace(version="0.0.1")})
    with pytest.warns(UserWarning, match="1 of 2 dask workers"):
        check_versions({"tcp://a": here, "tcp://b": here._replace(libraries="numpy 9")})
    late = client.submit(read_documents, None, 0, "0.0.1")
    with pytest.raises(ValueError, match=r"the fit runs with 0\.0\.1"):
        late.result()


def test_workers_that_find_another_corpus_are_refused(blocks, client, monkeypatch):
    other = WorkerFacts(VERSION, dask_cluster.libraries(), "another", True)
    monkeypatch.setattr(dask_cluster, "worker_facts", lambda *arguments: other)
    with pytest.raises(ValueError, match="finds another corpus"):
        short().fit(blocks, client=client)


def test_schedulers_without_gptm_are_refused(blocks, client, monkeypatch):
    def missing():
        raise ModuleNotFoundError("No module named 'gptm'")

    for answer, said in ((missing, "ModuleNotFoundError"), (lambda: "0.0.1", "has gptm 0.0.1")):
        monkeypatch.setattr(dask_cluster, "own_version", answer)
        with pytest.raises(ValueError, match=rf"scheduler .*{said}.*Install gptm\[dask\]"):
            short().fit(blocks, client=client)


def test_workers_without_gptm_are_refused(blocks, client, monkeypatch):
    def missing(*arguments):
        raise ModuleNotFoundError("No module named 'gptm'")

    monkeypatch.setattr(dask_cluster, "worker_facts", missing)
    with pytest.raises(ValueError, match=r"cannot work with gptm .*Install gptm\[dask\]"):
        short().fit(blocks, client=client)


def test_too_little_memory_for_the_topics_is_an_error(blocks):
    class Small:
        def scheduler_info(self, n_workers):
            return {"workers": {"tcp://a": {"nthreads": 4, "memory_limit": 300 * 2**20}}}

    check_memory(Small(), blocks, 3)
    with pytest.raises(ValueError, match=r"200000 topics over 80 words .*tcp://a with 4 threads"):
        check_memory(Small(), blocks, 200_000)


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (lambda corpus: Corpus(corpus.counts, corpus.vocabulary), "its columns are"),
        (
            lambda corpus: Corpus(corpus.counts, corpus.vocabulary[::-1], metadata=corpus.metadata),
            "vocabulary of another corpus",
        ),
    ],
    ids=["columns", "vocabulary"],
)
def test_blocks_of_another_corpus_are_named(client, tmp_path, other, said):
    corpus = simulated(D=100)
    mine = corpus.to_blocks(tmp_path / "mine", block_documents=25)
    theirs = other(corpus).to_blocks(tmp_path / "theirs", block_documents=25)
    name = "block-000002.arrow"
    (mine / name).write_bytes((theirs / name).read_bytes())
    entries = [json.loads((folder / "corpus.json").read_text()) for folder in (mine, theirs)]
    entries[0]["blocks"][2] = entries[1]["blocks"][2]
    (mine / "corpus.json").write_text(json.dumps(entries[0]))
    with pytest.raises(ValueError, match=rf"block-000002.*{said}"):
        short().fit(gptm.open_corpus(mine), client=client)


def test_damaged_blocks_are_named(blocks, client, tmp_path):
    folder = simulated(D=100).to_blocks(tmp_path / "b", block_documents=25)
    corpus = gptm.open_corpus(folder)
    path = folder / "block-000001.arrow"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(bytes(content))
    with pytest.raises(ValueError, match="block-000001"):
        short().fit(corpus, client=client)
