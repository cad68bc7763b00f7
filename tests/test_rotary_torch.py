"""What torch adds: gradients, transforms, compilation, narrow floats, strides, memory."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from torch.autograd import forward_ad
from torch.profiler import ProfilerActivity, profile

from rope_lib import (
    _torch_rotary,
    apply_rope,
    as_complex,
    as_real,
    convert_layout,
    convert_qk_weight,
    cos_sin,
    inverse_frequencies,
    rerotate,
    rotate,
    rotation_matrix,
)
from rope_lib.rotary import rotate_pairs

# torch warns of its own use of torch.jit when its forward derivatives are first used.
pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.script`:DeprecationWarning")

LAYOUTS = ["interleaved", "half"]
FLOATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]


DEVICES = ["cpu", "cuda"] if torch.cuda.is_available() else ["cpu"]


@pytest.fixture(params=DEVICES)
def device(request):
    return request.param


def random(*shape, dtype=torch.float32, device="cpu", seed=0):
    return torch.from_numpy(np.random.default_rng(seed).normal(size=shape)).to(device, dtype)


def tables(seq, dim, dtype=torch.float32, device="cpu", start=3):
    return cos_sin(
        torch.arange(start, start + seq, device=device), inverse_frequencies(dim), dtype=dtype
    )


def reference(x, cos, sin, layout, inverse=False):
    """The readable formula on float64 NumPy arrays."""
    x, cos, sin = (a.detach().cpu().double().numpy() for a in (x, cos, sin))
    return torch.from_numpy(apply_rope(x, cos, sin, layout=layout, inverse=inverse))


def views(x):
    """The same numbers in every arrangement of memory that a model hands over."""
    padded = torch.zeros(*x.shape[:-1], x.shape[-1] + 1, dtype=x.dtype, device=x.device)
    padded[..., :-1], shifted = x, padded.clone()
    shifted[..., 1:] = x
    return {
        "contiguous": x,
        "transposed": x.transpose(-2, -3).contiguous().transpose(-2, -3),
        "odd rows": padded[..., :-1],
        "odd offset": shifted[..., 1:],
        "every other": x.repeat_interleave(2, dim=-1)[..., ::2],
        "sequence last": x.transpose(-1, -2).contiguous().transpose(-1, -2),
        "expanded": x[:1].expand_as(x),
    }


@pytest.mark.parametrize("arrangement", list(views(torch.zeros(1, 1, 1, 2))))
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("dim", [16, 19])
def test_every_arrangement_of_memory(device, arrangement, layout, dtype, dim):
    x = views(random(2, 3, 5, dim, dtype=dtype, device=device))[arrangement]
    before = x.clone()
    cos, sin = tables(5, 16, device=device)
    got = apply_rope(x, cos, sin, layout=layout)
    exact = reference(x, cos, sin, layout)
    assert (got.dtype, got.device, got.shape) == (x.dtype, x.device, x.shape)
    step = 2.0**-22 if dtype == torch.float64 else 4 * torch.finfo(dtype).eps
    torch.testing.assert_close(got.cpu().double(), exact, atol=step, rtol=step)
    torch.testing.assert_close(x, before, rtol=0, atol=0)
    out = torch.full_like(before, 7.0)
    assert apply_rope(x, cos, sin, layout=layout, out=out) is out
    torch.testing.assert_close(out, got, rtol=0, atol=0)
    if arrangement != "expanded":
        assert apply_rope(x, cos, sin, layout=layout, out=x) is x
        torch.testing.assert_close(x, got, rtol=0, atol=0)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_narrow_floats_are_computed_in_float32_and_rounded_once(dtype, layout):
    x = random(2, 4, 64, 128, dtype=dtype)
    cos, sin = tables(64, 128, start=4000)
    exact = reference(x, cos, sin, layout)
    got = apply_rope(x, cos, sin, layout=layout)
    # float32 arithmetic moves a value across a rounding boundary about once in a thousand.
    assert (got.double() != exact.to(dtype).double()).double().mean() < 3e-3
    error = (got.double() - exact).norm() / exact.norm()
    narrow = rotate_pairs(x, cos.to(dtype), sin.to(dtype), layout)
    stepwise = x[..., :64] * cos.to(dtype) - x[..., 64:] * sin.to(dtype)
    if dtype == torch.bfloat16:
        # The floor of rounding the output; bfloat16 tables and products cost 1.6 times that.
        assert error == pytest.approx(1.66e-3, rel=0.02)
        if layout == "half":
            off = (stepwise.double() - exact[..., :64]).norm() / exact[..., :64].norm()
            assert off == pytest.approx(2.73e-3, rel=0.05)
        drift = (cos.to(dtype).double() ** 2 + sin.to(dtype).double() ** 2 - 1).abs().max()
        assert drift == pytest.approx(5.5e-3, rel=0.1)
    assert (narrow != got).any()


def test_rounding_noise_does_not_grow_with_the_position():
    q, k = random(64, 128, seed=1), random(64, 128, seed=2)

    def scores(shift):
        cos, sin = tables(64, 128, torch.float64, start=shift)
        turned = (apply_rope(a.double(), cos, sin).bfloat16().double() for a in (q, k))
        return next(turned) @ next(turned).T

    exact = q.double() @ k.double().T
    noise = {shift: (scores(shift) - scores(0)).abs().max() for shift in (1000, 100_000)}
    assert exact.abs().max() > 10
    assert all(0.01 < value < 0.3 for value in noise.values())
    assert 0.3 < noise[100_000] / noise[1000] < 3.0


def test_meta_s_complex_formula_agrees():
    x, (cos, sin) = random(2, 4, 32, 64), tables(32, 64)
    turned = torch.view_as_complex(x.reshape(2, 4, 32, 32, 2)) * torch.complex(cos, sin)
    torch.testing.assert_close(
        apply_rope(x, cos, sin), torch.view_as_real(turned).flatten(3), atol=1e-6, rtol=0
    )


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
def test_blocks_meet_without_a_seam(monkeypatch, layout, dtype):
    x, (cos, sin) = random(3, 4, 37, 22, dtype=dtype)[..., :21], tables(37, 20)
    whole = apply_rope(x, cos, sin, layout=layout)
    for block in (2, 50, 1000, 20_000):
        monkeypatch.setattr(_torch_rotary, "BLOCK", block)
        torch.testing.assert_close(apply_rope(x, cos, sin, layout=layout), whole, rtol=0, atol=1e-6)
        in_place = x.clone()
        apply_rope(in_place, cos, sin, layout=layout, out=in_place)
        torch.testing.assert_close(in_place, whole, rtol=0, atol=1e-6)


@pytest.mark.parametrize("shape", [(5, 8), (2, 5, 8), (2, 1, 5, 8), (2, 3, 2, 5, 8)])
@pytest.mark.parametrize("table", [(4,), (1, 4), (5, 4), (1, 1, 5, 4), (2, 1, 5, 4)])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_tables_broadcast(shape, table, layout):
    x, cos, sin = random(*shape), random(*table, seed=1), random(*table, seed=2)
    if len(table) > len(shape):
        with pytest.raises(ValueError, match=f"tables must have 1 to {len(shape)} axes"):
            apply_rope(x, cos, sin, layout=layout)
        return
    if len(table) == 4 and table[0] == 2 and len(shape) == 5:
        with pytest.raises(ValueError, match="axis -4 of the tables must be 1 or 3"):
            apply_rope(x, cos, sin, layout=layout)
        return
    for dtype in (torch.float32, torch.bfloat16):
        got = apply_rope(x.to(dtype), cos, sin, layout=layout)
        exact = reference(x.to(dtype), cos, sin, layout)
        eps = 4 * torch.finfo(dtype).eps
        torch.testing.assert_close(got.double(), exact, atol=eps, rtol=eps)


# Gradients


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dim", [6, 8, 9])
@pytest.mark.parametrize("inverse", [False, True])
def test_gradients(layout, dim, inverse):
    x = random(2, 3, dim, dtype=torch.float64).requires_grad_()
    cos, sin = tables(3, 6, torch.float64)

    def turn(x):
        return apply_rope(x, cos, sin, layout=layout, inverse=inverse)

    options = {"check_forward_ad": True, "check_batched_grad": True}
    assert torch.autograd.gradcheck(turn, x, **options)
    assert torch.autograd.gradgradcheck(turn, x)


def test_gradients_reach_the_tables_and_what_they_are_made_of():
    x = random(2, 3, 6, dtype=torch.float64).requires_grad_()
    theta = torch.tensor([1.0, 0.3, 0.1], dtype=torch.float64, requires_grad=True)
    positions = torch.tensor([2.0, 3.5, 7.0], dtype=torch.float64, requires_grad=True)

    def turn(x, positions, theta):
        tables = cos_sin(positions, theta, dtype=torch.float64)
        return apply_rope(rotate_k(x, theta), *tables, layout="half")

    def rotate_k(x, theta):
        return rerotate(x, 2, theta, layout="half")

    assert torch.autograd.gradcheck(turn, (x, positions, theta), check_forward_ad=True)
    assert torch.autograd.gradgradcheck(turn, (x, positions, theta))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_gradient_is_the_inverse_rotation(device, dtype, layout):
    x = random(2, 3, 5, 10, dtype=dtype, device=device).requires_grad_()
    upstream = random(2, 3, 5, 10, dtype=dtype, device=device, seed=9)
    cos, sin = tables(5, 8, device=device)
    apply_rope(x, cos, sin, layout=layout).backward(upstream)
    back = apply_rope(upstream, cos, sin, layout=layout, inverse=True)
    torch.testing.assert_close(x.grad, back, rtol=0, atol=0)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_graph_keeps_the_tables_and_never_x(layout):
    x, (cos, sin) = random(2, 3, 5, 8).requires_grad_(), tables(5, 8)
    kept = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t) or t, lambda t: t):
        apply_rope(x, cos, sin, layout=layout)
    assert [t.shape for t in kept] == [cos.shape, sin.shape]


def test_no_graph_where_none_is_wanted():
    x, (cos, sin) = random(3, 8).requires_grad_(), tables(3, 8)
    with torch.no_grad():
        assert not apply_rope(x, cos, sin).requires_grad
    with torch.inference_mode():
        assert apply_rope(x.detach(), cos, sin).is_inference()
    assert apply_rope(torch.nn.Parameter(x.detach()), cos, sin).requires_grad


# Transforms and compilation


@pytest.mark.parametrize("layout", LAYOUTS)
def test_vmap_over_x_and_over_tables(layout):
    x, (cos, sin) = random(4, 3, 8), tables(3, 8)
    turn = torch.func.vmap(lambda x: apply_rope(x, cos, sin, layout=layout))
    torch.testing.assert_close(turn(x), apply_rope(x, cos, sin, layout=layout))
    batched = torch.func.vmap(
        lambda c, s: apply_rope(x, c, s, layout=layout), in_dims=(0, 0), out_dims=1
    )
    many = batched(cos[:, None], sin[:, None])
    for row in range(3):
        one = apply_rope(x, cos[row : row + 1], sin[row : row + 1], layout=layout)
        torch.testing.assert_close(many[:, row], one)


class Named(torch.Tensor):
    """A subclass, which may give operations a meaning of its own."""


def test_subclasses_stay_what_they_are():
    x, (cos, sin) = random(3, 8), tables(3, 8)
    got = apply_rope(x.as_subclass(Named), cos, sin)
    assert type(got) is Named
    torch.testing.assert_close(got.as_subclass(torch.Tensor), apply_rope(x, cos, sin))


def test_a_parameter_inside_a_transform_of_something_else():
    x, (cos, sin) = random(3, 8).requires_grad_(), tables(3, 8)
    scaled = torch.func.vmap(lambda a: a * apply_rope(x, cos, sin))(torch.tensor([1.0, 2.0]))
    scaled.sum().backward()
    expected = 3 * apply_rope(torch.ones(3, 8), cos, sin, inverse=True)
    torch.testing.assert_close(x.grad, expected)


def test_vmap_over_positions():
    theta = inverse_frequencies(8)
    got = torch.func.vmap(lambda m: cos_sin(m, theta)[0])(torch.arange(6).reshape(2, 3))
    torch.testing.assert_close(got, cos_sin(torch.arange(6).reshape(2, 3), theta)[0])
    many = torch.arange(2 * 2**15).reshape(2, -1)
    got = torch.func.vmap(lambda m: cos_sin(m, theta)[1])(many)
    torch.testing.assert_close(got, cos_sin(many, theta)[1])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_forward_derivatives(layout):
    x, tangent, (cos, sin) = random(3, 10), random(3, 10, seed=1), tables(3, 8)
    value, along = torch.func.jvp(
        lambda x: apply_rope(x, cos, sin, layout=layout), (x,), (tangent,)
    )
    torch.testing.assert_close(value, apply_rope(x, cos, sin, layout=layout))
    torch.testing.assert_close(along, apply_rope(tangent, cos, sin, layout=layout))
    with forward_ad.dual_level():
        dual = apply_rope(forward_ad.make_dual(x, tangent), cos, sin, layout=layout)
        torch.testing.assert_close(forward_ad.unpack_dual(dual).tangent, along)
    # The Jacobian is the rotation itself: orthogonal.
    jacobian = torch.func.jacrev(lambda x: apply_rope(x, cos, sin, layout=layout))(x)
    matrix = jacobian.reshape(30, 30)
    torch.testing.assert_close(matrix @ matrix.T, torch.eye(30), atol=1e-6, rtol=0)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_one_graph_when_compiled(layout):
    theta = inverse_frequencies(8)

    @torch.compile(fullgraph=True, backend="aot_eager")
    def turn(x, positions):
        cos, sin = cos_sin(positions, theta)
        return apply_rope(rerotate(x, 3, theta, layout=layout), cos, sin, layout=layout)

    x = random(2, 5, 4, 10, dtype=torch.bfloat16).requires_grad_()
    cos, sin = cos_sin(torch.arange(7, 11), theta)
    got = turn(x, torch.arange(7, 11))
    once = apply_rope(rerotate(x, 3, theta, layout=layout), cos, sin, layout=layout)
    torch.testing.assert_close(got, once, atol=0.03, rtol=0)
    (compiled,) = torch.autograd.grad(got.sum(), x)
    (eager,) = torch.autograd.grad(once.sum(), x)
    torch.testing.assert_close(compiled, eager, atol=0.03, rtol=0)


def test_the_other_names_compile_too():
    x, theta = random(3, 8), torch.tensor([0.1, 0.2, 0.3])

    def everything(x, theta):
        out = torch.empty_like(x)
        apply_rope(x, *cos_sin([4, 5, 6], inverse_frequencies(8)), inverse=True, out=out)
        return (
            out,
            cos_sin(2.5, theta, attention_factor=1.5)[0],
            as_real(as_complex(x)),
            rotate(x[:, :2], theta),
            rotation_matrix(theta),
            convert_layout(x, "half", "interleaved"),
            convert_qk_weight(x.T, 2, source="half", target="interleaved"),
        )

    compiled = torch.compile(everything, fullgraph=True, backend="eager")(x, theta)
    for got, want in zip(compiled, everything(x, theta), strict=True):
        torch.testing.assert_close(got, want)


def test_what_a_compiler_sees(monkeypatch):
    # The same lines run eagerly, where the other tests can step on them.
    x, theta = random(3, 8), torch.from_numpy(inverse_frequencies(8))
    expected = apply_rope(x, *cos_sin([4, 5, 6], theta))
    nothing = float("nan")
    monkeypatch.setattr(torch.compiler, "is_compiling", lambda: True)
    for frequencies in (theta, theta.numpy()):
        tables = cos_sin([4, 5, 6], frequencies)
        torch.testing.assert_close(apply_rope(x, *tables), expected)
        torch.testing.assert_close(apply_rope(x, *tables, out=torch.empty_like(x)), expected)
    torch.testing.assert_close(rerotate(x, [4, 5, 6], theta), expected)
    # Values cannot be looked at, so nothing is said of them.
    assert rotation_matrix(torch.tensor(nothing)).isnan().all()
    assert cos_sin(torch.arange(2**15), theta)[0].shape == (2**15, 4)


def test_other_names_keep_gradient_device_and_dtype(device):
    x = random(3, 8, dtype=torch.bfloat16, device=device).requires_grad_()
    for made in (
        rotate(x[:, :2], 0.3),
        rotation_matrix(x),
        convert_layout(x, "half", "interleaved"),
        convert_qk_weight(x.T, 2, source="half", target="interleaved"),
        as_real(as_complex(x.float())).bfloat16(),
    ):
        assert (made.dtype, made.device, made.requires_grad) == (x.dtype, x.device, True)
    theta = random(2, 2, dtype=torch.float64).requires_grad_()
    assert torch.autograd.gradcheck(lambda t: rotate([[1.0, 2.0]], t), theta)
    assert torch.autograd.gradcheck(rotation_matrix, theta)


def test_meta_tensors_have_shapes_only():
    x = torch.empty(2, 3, 8, device="meta")
    cos, sin = cos_sin(torch.empty(3, device="meta"), inverse_frequencies(8))
    assert apply_rope(x, cos, sin).shape == (2, 3, 8)
    assert apply_rope(x, cos, sin, layout="half").device.type == "meta"


# What torch can get wrong


def test_an_out_that_torch_must_not_write():
    x, (cos, sin) = random(2, 3, 8), tables(3, 8)
    with pytest.raises(ValueError, match="out= records no gradient"):
        apply_rope(x.clone().requires_grad_(), cos, sin, out=torch.empty_like(x))
    with pytest.raises(ValueError, match="out must not be an expanded view, got strides"):
        apply_rope(x, cos, sin, out=torch.empty(3, 8).expand(2, 3, 8))
    with pytest.raises(ValueError, match="out= cannot be written under vmap"):
        torch.func.vmap(lambda a: apply_rope(a, cos, sin, out=torch.empty(3, 8)))(x)
    buffer = torch.zeros(3, 3, 8)
    with pytest.raises(ValueError, match="share no memory"):
        apply_rope(buffer[:2], cos, sin, out=buffer[1:])
    with pytest.raises(ValueError, match="share no memory"):
        apply_rope(torch.zeros(3, 8), buffer[0, :, :4], buffer[0, :, 4:], out=buffer[0])
    # Memory end to end is not shared, and an empty tensor shares none.
    assert apply_rope(buffer[0], cos, sin, out=buffer[1]) is not None
    assert apply_rope(buffer[0, :0], cos[:0], sin[:0], out=buffer[0, :0]).shape == (0, 8)
    with torch.no_grad():
        grown = x.clone().requires_grad_()
        apply_rope(grown, cos, sin, out=grown)
        torch.testing.assert_close(grown, apply_rope(x, cos, sin))


def test_one_device(device):
    other = "meta" if device == "cpu" else "cpu"
    x, (cos, sin) = random(3, 8, device=device), tables(3, 8, device=device)
    with pytest.raises(ValueError, match="one device, got"):
        apply_rope(x.to(other), cos, sin)
    with pytest.raises(ValueError, match="out must be on the device of x"):
        apply_rope(x, cos, sin, out=torch.empty_like(x, device=other))
    # Positions and frequencies are small: the latter follow the former, a delta follows k.
    assert cos_sin(torch.arange(3, device=device), torch.ones(2))[0].device == x.device
    assert rerotate(x, torch.tensor(2), torch.ones(2)).device == x.device


def test_dtypes_that_cannot_rotate():
    x, (cos, sin) = random(3, 8), tables(3, 8)
    for bad in (x.int(), x > 0, x.to(torch.complex64), x.to(torch.float8_e4m3fn)):
        with pytest.raises(TypeError, match="x must be floating, got dtype torch"):
            apply_rope(bad, cos, sin)


def test_positions_are_checked_where_they_can_be_read():
    with pytest.raises(ValueError, match=r"positions must be finite and below 2\*\*53"):
        cos_sin(torch.tensor([2**60]), [1.0])
    with pytest.raises(ValueError, match=r"positions must be finite .* got nan"):
        cos_sin(torch.tensor([1.0, float("nan")]), [1.0])
    with pytest.raises(ValueError, match="theta must be finite, got inf"):
        rotation_matrix(torch.tensor([float("inf")]))


def test_long_runs_keep_what_is_asked_of_them():
    theta = torch.from_numpy(inverse_frequencies(8))
    ids = torch.arange(2**15)
    cos, sin = cos_sin(ids, theta)
    assert cos.dtype == torch.float32
    angles = ids[:, None] * theta
    torch.testing.assert_close(cos, angles.cos().float(), rtol=0, atol=6e-8)
    torch.testing.assert_close(sin, angles.sin().float(), rtol=0, atol=6e-8)
    learned, _ = cos_sin(ids, theta.clone().requires_grad_())
    assert learned.requires_grad
    moving, _ = cos_sin(ids.double().requires_grad_(), theta)
    assert moving.requires_grad
    narrow, _ = cos_sin(ids, theta, dtype=torch.bfloat16)
    torch.testing.assert_close(narrow, angles.cos().bfloat16(), rtol=0, atol=0)


def test_memory_beyond_the_output_stays_small():
    x, (cos, sin) = random(1, 32, 2048, 128), tables(2048, 128)
    for layout, dtype in itertools.product(LAYOUTS, (torch.float32, torch.bfloat16)):
        y = x.to(dtype)
        assert extra_memory(lambda y=y, layout=layout: apply_rope(y, cos, sin, layout=layout)) < (
            0.15 * y.nbytes
        )


def extra_memory(call):
    """The most memory that was allocated at once beyond what is returned, in bytes."""
    with profile(profile_memory=True, activities=[ProfilerActivity.CPU]) as recorded:
        kept = call()
    held = peak = 0
    for event in sorted(recorded.profiler.kineto_results.events(), key=lambda e: e.start_ns()):
        if event.name() == "[memory]":
            held += event.nbytes()
            peak = max(peak, held)
    assert peak >= kept.nbytes > 0
    return peak - kept.nbytes
