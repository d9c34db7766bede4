"""The replay ring: what was pushed is what is read, nothing is read that may be half written, and chance is seeded."""

import json

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks import unpackers as unpacking
from dshq_widget.pixels import packing, transfer_guard, unpackers
from dshq_widget.pixels.commits import CommitManager
from dshq_widget.pixels.ring import UNKNOWN, ReplayRing, ReplayRingCUDA
from tests.harness.counts import times
from tests.harness.scripts import printed
from tests.harness.simulator import simulated

GAMES = 8
RINGS = [ReplayRing, pytest.param(ReplayRingCUDA, marks=pytest.mark.gpu)]
PACKED = "packed = torch.arange(256, dtype=torch.uint8).repeat(3, 1, 5, 1)"
IN_TRITONS_INTERPRETER = f"""
import torch
from benchmarks import unpackers as unpacking
from dshq_widget.pixels import packing, unpackers
{PACKED}
for part in (packed, packed[0, 0, 0, :100].contiguous(), packed[:0]):  # whole blocks, a part of one, nothing
    assert torch.equal(unpackers.unpack(part, "triton"), packing.unpack(part)), part.shape
print("same")
"""
COMPILED = """
import json
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from dshq_widget.pixels.triton_kernels import unpack_kernel
from dshq_widget.pixels.unpackers import BLOCK
given = {"source": "*u8", "target": "*u8", "n": "i32"}
source = ASTSource(unpack_kernel, signature={**given, "block": "constexpr"}, constexprs={"block": 4 * BLOCK})
code = triton.compile(source, target=GPUTarget("cuda", 90, 32))
target = next(line for line in code.asm["ptx"].splitlines() if line.startswith(".target"))
print(json.dumps({"target": target, "shared": code.metadata.shared, "bytes": len(code.asm["cubin"])}))
"""
IN_THE_SIMULATOR = f"""
import numpy as np, torch
from numba import cuda
from benchmarks import unpackers as unpacking
from dshq_widget.pixels import packing, unpackers
{PACKED}
for part in (packed, packed[0, 0, 0, :100]):
    given, out = part.numpy().ravel().copy(), np.full(4 * part.numel(), 0xA5, np.uint8)
    on = cuda.to_device(out)
    unpackers._kernel[-(-given.size // unpackers.BLOCK), unpackers.BLOCK](cuda.to_device(given), on)
    assert np.array_equal(on.copy_to_host(), packing.unpack(part).numpy().ravel()), part.shape
print("same")
"""


def push(ring: ReplayRing, ends: frozenset[tuple[int, int]] = frozenset()) -> int:
    """One step of made-up games: every number tells its step and game; games in `ends` end with this step."""
    t = ring.total
    before = torch.tensor([t > 0 and (t - 1, k) in ends for k in range(ring.num_envs)])
    is_first = before | torch.tensor(t == 0)
    old = ring.rows["episode_id"][(t - 1) % ring.capacity].cpu() if t else torch.full((ring.num_envs,), -1)
    ring.obs_slot().fill_(t % 251)
    number = torch.arange(ring.num_envs, dtype=torch.int32) + 100 * t
    continues = torch.tensor([0.0 if (t, k) in ends else 1.0 for k in range(ring.num_envs)])
    episode = (old + is_first).to(torch.int32)
    row = (number, number.float() * (~is_first), is_first, continues, episode)
    return ring.push_step(*(each.to(ring.device) for each in row))


@settings(max_examples=times(60, 15), deadline=None)
@given(
    capacity=st.integers(2, 24),
    steps=st.integers(0, 70),
    length=st.integers(1, 8),
    margin=st.integers(0, 5),
    ends=st.frozensets(st.tuples(st.integers(0, 70), st.integers(0, 2)), max_size=12),
)
def test_windows_hold_whole_steps_in_order_and_no_forbidden_ones(capacity, steps, length, margin, ends):
    ring = ReplayRing(capacity, 3)
    for _ in range(steps):
        push(ring, ends)
    ring.check_invariants()
    oldest = max(0, steps - capacity + 1) + margin * (steps >= capacity)
    newest = steps - 1 - margin
    found = ring.sample_sequences(64, length, torch.Generator().manual_seed(1), margin=margin)
    if newest - oldest + 1 < length:
        assert found is None
        return
    step, game = found["action"] // 100, found["action"] % 100
    assert found["obs"].shape == (length, 64, *packing.PACKED) and found["obs"].dtype == torch.uint8
    assert ((step[1:] - step[:-1]) == 1).all() and (game == game[0]).all()
    assert step.min() >= oldest and step.max() <= newest
    assert (found["obs"].flatten(2) == (step % 251)[..., None]).all(), "the frame belongs to its step"
    assert (found["reward"][found["is_first"]] == 0).all()
    assert found["is_first"].dtype == torch.bool and set(found["continues"].unique().tolist()) <= {0.0, 1.0}


def test_a_memory_is_that_of_the_step_before_a_window():
    ring = ReplayRing(16, 3, memory=(5, 2))
    for t in range(40):
        number = 10 * t + torch.arange(3)
        ring.remember((number[:, None].expand(-1, 5) / 8, number[:, None].expand(-1, 2) % 200) if t % 4 else None)
        push(ring)
    found = ring.sample_sequences(256, 4, torch.Generator().manual_seed(1), margin=2)
    before, game = found["action"][0] // 100 - 1, found["game"]
    assert before.min() == 40 - 16 + 1 + 2, "the oldest step but the margin is read for its memory only"
    assert (found["action_before"] == 100 * before + game).all() and (found["row"] == found["action"] // 100 % 16).all()
    known = found["z"][:, 0] != UNKNOWN
    assert (known == (before % 4 > 0)).all() and (found["h"][known] == ((10 * before + game) / 8)[known][:, None]).all()
    assert (found["z"][known] == ((10 * before + game) % 200)[known][:, None]).all()
    ring.refresh(found, (torch.full((4, 256, 5), 7.0), torch.full((4, 256, 2), 1, dtype=torch.uint8)))
    renewed = torch.zeros(16, 3, dtype=torch.bool)
    renewed[found["row"], game] = True
    assert renewed.any() and not renewed.all() and ((ring.remembered["h"] == 7).all(-1) == renewed).all()
    plain = ReplayRing(16, 3)
    plain.remember((torch.zeros(3, 5), torch.zeros(3, 2)))
    assert not plain.remembered, "a ring that keeps no memory forgets it"


def test_the_same_generator_samples_the_same_and_every_window_comes_up():
    ring = ReplayRing(16, GAMES)
    for _ in range(20):
        push(ring)
    one, other = (ring.sample_sequences(512, 4, torch.Generator().manual_seed(7)) for _ in range(2))
    assert all(torch.equal(one[key], other[key]) for key in one)
    assert set((one["action"][0] // 100).tolist()) == set(range(5, 17)) and len(set(one["action"][0].tolist())) > 64
    different = ring.sample_sequences(512, 4, torch.Generator().manual_seed(8))
    assert not torch.equal(one["action"], different["action"])


def test_only_what_is_committed_is_sampled():
    ring, commits = ReplayRing(64, GAMES), CommitManager(stride=8, margin=4)
    assert ring.sample_sequences(4, 4, torch.Generator(), commits.committed_t, commits.margin) is None
    closed = [commits.mark_written(push(ring)) for _ in range(30)]
    assert [t for t, done in enumerate(closed) if done] == [7, 15, 23]
    assert (commits.write_t, commits.committed_t) == (29, 23)
    found = ring.sample_sequences(256, 4, torch.Generator().manual_seed(0), commits.committed_t, commits.margin)
    assert found["action"].max() // 100 == 19
    commits.wait_for_commit(23)
    with pytest.raises(ValueError, match="step 24 is not committed"):
        commits.wait_for_commit(24)
    with pytest.raises(ValueError, match="expected 30, got 32"):
        commits.mark_written(32)


@pytest.mark.parametrize("made", RINGS)
def test_slots_are_the_ring_itself_and_stay_where_they_are(made):
    ring = made(8, GAMES)
    ring.assert_alignment()
    addresses = {name: row.data_ptr() for name, row in {"obs": ring.obs, **ring.rows}.items()}
    assert all(address % 256 == 0 for address in addresses.values())
    slot = ring.obs_slot()
    assert slot.data_ptr() == ring.obs.data_ptr() and slot.is_contiguous() and slot.shape == (GAMES, 1, 72, 20)
    for _ in range(11):
        push(ring)
    assert addresses == {name: row.data_ptr() for name, row in {"obs": ring.obs, **ring.rows}.items()}
    assert ring.obs_slot(9).data_ptr() == ring.obs[1].data_ptr() and (ring.obs_slot(9) == 9).all()
    assert all(ring.obs[t].data_ptr() % 256 == 0 for t in range(8)), "eight games: every slot is aligned"
    with pytest.raises(IndexError, match="step 3 is not in the ring: it holds 4 to 11"):
        ring.obs_slot(3)


def test_broken_promises_are_found():
    for field, step, what in (
        ("episode_id", 5, "episode's number"),
        ("continues", 3, "continues is 0 or 1"),
        ("is_first", 4, "episode's number"),
    ):
        ring = ReplayRing(16, GAMES)
        for _ in range(8):
            push(ring, frozenset({(2, 1)}))
        ring.check_invariants()
        ring.rows[field][step, 0] = 1 if field == "is_first" else 7
        with pytest.raises(ValueError, match=f"{what}.* of game 0"):
            ring.check_invariants()
    ring.rows["is_first"][4, 0] = False
    ring.rows["continues"][4, 2] = 0.0
    with pytest.raises(ValueError, match="what follows an end is a beginning.*game 2"):
        ring.check_invariants()


@pytest.mark.parametrize(
    ("act", "sentence"),
    [
        (lambda ring: ReplayRing(1, 4), "a capacity of 2 or more"),
        (lambda ring: ring.sample_sequences(0, 4, torch.Generator()), "a batch and a length of 1 or more"),
        (lambda ring: ring.sample_sequences(1, 1, torch.Generator(), committed_t=99), "a step that was pushed"),
        (lambda ring: ring.push_step(*[torch.zeros(GAMES)] * 5), "action: expected torch.int32"),
        (lambda ring: ring.push_step(*[torch.zeros(3)] * 5), r"of shape \(3,\)"),
        (lambda ring: CommitManager(stride=0), "a stride of 1 or more"),
        (lambda ring: ReplayRingCUDA(8, 8, device="cpu"), "use ReplayRing instead"),
    ],
)
def test_wrong_requests_say_what_was_wanted(act, sentence):
    with pytest.raises(ValueError, match=sentence):
        act(ReplayRing(8, GAMES))


def test_four_pixels_to_a_byte_and_back():
    pixels = torch.randint(4, (5, 1, 72, 80), generator=torch.Generator().manual_seed(0), dtype=torch.uint8)
    packed = packing.pack(pixels)
    assert packed.shape == (5, *packing.PACKED) and packed[0].numel() == 1440
    assert torch.equal(packing.unpack(packed), pixels)
    assert packed[0, 0, 0, 0] == sum(int(pixels[0, 0, 0, k]) << 2 * k for k in range(4))
    assert torch.equal(packing.normalised(packed), pixels.float() / 3 - 0.5)
    a, b = packed[0].flatten(), packed[1].flatten()
    wanted = (pixels[0].int() - pixels[1].int()).abs().sum()
    assert packing.distances(packed.device)[a.int(), b.int()].sum(dtype=torch.int64) == wanted
    with pytest.raises(ValueError, match="shades 0 to 3, got 4"):
        packing.pack(torch.full((4,), 4, dtype=torch.uint8))
    with pytest.raises(ValueError, match="divisible by 4"):
        packing.pack(torch.zeros(6, dtype=torch.uint8))


@pytest.mark.parametrize(
    ("impl", "device"),
    [
        ("lut", "cpu"),
        ("numba", "cpu"),
        *(pytest.param(impl, "cuda", marks=pytest.mark.gpu) for impl in unpackers.UNPACKERS),
    ],
)
def test_all_ways_to_unpack_agree_to_the_bit(impl, device):
    if impl == "triton":
        pytest.importorskip("triton")
    packed = torch.arange(256, dtype=torch.uint8).repeat(3, 1, 5, 1).to(device)
    found = unpackers.unpack(packed, impl)
    assert found.dtype == torch.uint8 and torch.equal(found, packing.unpack(packed))
    assert torch.equal(packing.pack(found), packed)


def test_triton_unpacks_the_same_in_its_interpreter():
    pytest.importorskip("triton")
    assert printed(IN_TRITONS_INTERPRETER, TRITON_INTERPRET="1") == "same"


def test_triton_compiles_it_for_a_gpu_that_need_not_be_there():
    pytest.importorskip("triton")
    found = json.loads(printed(COMPILED, TRITON_INTERPRET=None))
    assert ".target sm_90a" in found["target"] and found["shared"] == 0 and found["bytes"] > 1000


def test_numbas_kernel_unpacks_the_same_in_its_simulator():
    assert simulated(IN_THE_SIMULATOR) == "same"


def test_the_benchmark_of_unpackers_says_what_it_compared(tmp_path):
    found = unpacking.measure("cpu", frames=4, rounds=2)
    assert set(found["bytes_per_second"]) == {"lut", "numba"} and found["moved_bytes"] == 5 * 4 * 1440
    assert all(rate > 0 for rate in (found["copy_bytes_per_second"], *found["bytes_per_second"].values()))
    assert found["share_of_copy"]["lut"] == found["bytes_per_second"]["lut"] / found["copy_bytes_per_second"]


def test_a_way_to_unpack_that_does_not_exist():
    with pytest.raises(ValueError, match="expected one of lut, numba, triton, got 'warp'"):
        unpackers.unpack(torch.zeros(4, dtype=torch.uint8), "warp")
    with pytest.raises(ValueError, match="expected contiguous bytes"):
        unpackers.unpack(torch.zeros(4, 4, dtype=torch.uint8).T, "lut")


def test_copies_are_found_by_name():
    names = ["Memcpy HtoD (Pageable -> Device)", "Memcpy DtoD (Device -> Device)", "aten::copy_", "Memcpy DtoH"]
    assert transfer_guard.host_copies(names) == [names[0], names[3]]
    if not torch.cuda.is_available():
        with pytest.raises(RuntimeError, match="no usable CUDA device"), transfer_guard.assert_no_host_memcpy():
            pass


@pytest.mark.gpu
def test_a_ring_on_the_gpu_copies_nothing_over():
    ring, commits = ReplayRingCUDA(64, GAMES), CommitManager(8, 8, "cuda")
    generator = torch.Generator("cuda").manual_seed(0)
    values = [torch.zeros(GAMES, dtype=row.dtype, device="cuda") for row in ring.rows.values()]

    def loop() -> None:
        for _ in range(16):
            ring.obs_slot().fill_(1)
            commits.mark_written(ring.push_step(*values))
        commits.wait_for_commit(commits.committed_t)
        ring.sample_sequences(8, 8, generator, commits.committed_t, commits.margin)

    loop()
    with transfer_guard.assert_no_host_memcpy():
        loop()
    with pytest.raises(AssertionError, match="Memcpy"), transfer_guard.assert_no_host_memcpy():
        values[1].cpu()
    assert np.all(ring.reward.cpu().numpy() == 0) and (ring.obs[:48] == 1).all(), "read back"


@pytest.mark.gpu
def test_a_commit_holds_the_learners_stream_on_a_gpu():
    """The actor is slow: who does not wait for its event reads what was there before."""
    ring, commits = ReplayRingCUDA(8, GAMES), CommitManager(4, 0, "cuda")
    values = [torch.zeros(GAMES, dtype=row.dtype, device="cuda") for row in ring.rows.values()]
    actor, learner = torch.cuda.Stream(), torch.cuda.Stream()
    torch.cuda.synchronize()
    with torch.cuda.stream(actor):
        for t in range(4):
            torch.cuda._sleep(100_000_000)
            ring.obs_slot().fill_(t + 1)
            commits.mark_written(ring.push_step(*values))
    with torch.cuda.stream(learner):
        early = ring.obs[3].clone()
        commits.wait_for_commit(3)
        late = ring.obs[:4].clone()
    learner.synchronize()
    assert (early == 0).all() and [int(slot.unique()) for slot in late] == [1, 2, 3, 4]
