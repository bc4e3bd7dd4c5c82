"""Functions of tensors, and the calls that PyTorch 2.13 has for them after
`run_decompositions()`: those of numbers, statistics, indices, vectors and order."""

# An expression of the library `T`, its functions `F`, an input `x` between 0.1 and 0.9 of shape
# (2, 3, 4), whole numbers `n` of shape (2, 2) and a permutation `i` of three indices -> PyTorch's
# calls.
CASES = {
    "T.addcmul(x, x, x)": "add.Tensor mul.Tensor*2",
    "T.addcdiv(x, x, x + 1, value=2)": "add.Tensor*2 div.Tensor mul.Tensor",
    "T.lerp(x, x + 1, 0.3)": (
        "abs.default add.Tensor*2 full.default ge.Scalar mul.Tensor sub.Tensor*2 where.self*2"
    ),
    "T.lerp(x, x + 1, x * 2)": (
        "abs.default add.Tensor*2 ge.Scalar mul.Tensor*2 sub.Tensor*2 where.self*2"
    ),
    "T.masked_fill(x, x > 0.5, 2)": "gt.Scalar scalar_tensor.default where.self",
    "T.masked_fill(x, x > 0.5, x[0, 0, 0])": "gt.Scalar select.int*3 where.self",
    "T.isfinite(x / (x - x))": "abs.default div.Tensor eq.Tensor mul.Tensor ne.Scalar sub.Tensor",
    "T.isfinite(n)": "full_like.default",
    "T.isneginf(-1 / (x - x))": "eq.Scalar mul.Tensor reciprocal.default sub.Tensor",
    "T.isposinf(n)": "full_like.default",
    "T.isreal(x)": "full_like.default",
    "T.isclose(x, x + x.round() * 1e-9)": (
        "abs.default*3 add.Scalar add.Tensor bitwise_and.Tensor bitwise_or.Tensor eq.Tensor*2 "
        "le.Tensor mul.Scalar mul.Tensor*2 ne.Scalar round.default sub.Tensor"
    ),
    "T.isclose(x, x, equal_nan=True)": (
        "abs.default*3 add.Scalar bitwise_and.Tensor*2 bitwise_or.Tensor*2 eq.Tensor*2 "
        "isnan.default*2 le.Tensor mul.Scalar mul.Tensor ne.Scalar sub.Tensor"
    ),
    "T.isclose(n, n, 0, 0)": "eq.Tensor",
    "T.isclose(n, n + 1, 0.5)": (
        "_to_copy.default abs.default*3 add.Scalar add.Tensor bitwise_and.Tensor "
        "bitwise_or.Tensor eq.Tensor*2 le.Tensor mul.Scalar mul.Tensor ne.Scalar sub.Tensor"
    ),
    "T.logaddexp(x, x * 2)": (
        "abs.default add.Tensor eq.Tensor*2 exp.default ge.Tensor log1p.default "
        "logical_and.default logical_not.default mul.Tensor*2 ne.Scalar sub.Tensor where.self*3"
    ),
    "T.logaddexp(x / (x - x), x / (x - x))": (
        "abs.default add.Tensor div.Tensor*2 eq.Tensor*2 exp.default ge.Tensor log1p.default "
        "logical_and.default logical_not.default mul.Tensor ne.Scalar sub.Tensor*3 where.self*3"
    ),
    "T.logaddexp2(x, x * 2)": (
        "add.Tensor eq.Tensor exp2.default ge.Tensor isinf.default log1p.default "
        "logical_and.default mul.Tensor*2 sub.Tensor where.self*3"
    ),
    "T.logit(x)": (
        "div.Tensor gt.Scalar log.default lt.Scalar scalar_tensor.default*2 sub.Tensor "
        "where.self*2"
    ),
    "T.logit(x, 0.2)": (
        "div.Tensor gt.Scalar log.default lt.Scalar scalar_tensor.default*2 sub.Tensor "
        "where.self*2"
    ),
    "T.logit(n)": (
        "_to_copy.default div.Tensor gt.Scalar log.default lt.Scalar scalar_tensor.default*2 "
        "sub.Tensor where.self*2"
    ),
    "T.heaviside(x - x.round(), x)": (
        "eq.Scalar isnan.default logical_or.default lt.Scalar round.default "
        "scalar_tensor.default*2 sub.Tensor where.self*2"
    ),
    "T.heaviside(n - 1, n)": (
        "eq.Scalar isnan.default logical_or.default lt.Scalar scalar_tensor.default*2 sub.Tensor "
        "where.self*2"
    ),
    "T.nan_to_num(x / (x - x))": (
        "div.Tensor eq.Scalar*2 isnan.default scalar_tensor.default*3 sub.Tensor where.self*3"
    ),
    "T.nan_to_num((x - x) / (x - x), 1.5)": (
        "div.Tensor eq.Scalar*2 isnan.default scalar_tensor.default*3 sub.Tensor*2 where.self*3"
    ),
    "T.nan_to_num(n)": "",
    "T.sgn(x - 0.5)": "sign.default sub.Tensor",
    "T.frac(x * 5)": "mul.Tensor sub.Tensor trunc.default",
    "T.floor_divide(x, 0.3)": "div.Tensor_mode",
    "T.floor_divide(x, x * 0.4)": "div.Tensor_mode mul.Tensor",
    "T.positive(x)": "",
    "T.deg2rad(x)": "mul.Tensor",
    "T.rad2deg(n)": "_to_copy.default mul.Tensor",
    "T.sinc(x)": "div.Tensor eq.Scalar mul.Tensor scalar_tensor.default sin.default where.self",
    "T.sinc(n)": (
        "_to_copy.default div.Tensor eq.Scalar mul.Tensor scalar_tensor.default sin.default "
        "where.self"
    ),
    "T.special.entr(x)": (
        "eq.Scalar gt.Scalar isnan.default log.default mul.Tensor neg.default "
        "scalar_tensor.default*2 where.self*3"
    ),
    "T.special.entr(x.round())": (
        "eq.Scalar gt.Scalar isnan.default log.default mul.Tensor neg.default round.default "
        "scalar_tensor.default*2 where.self*3"
    ),
    "T.special.ndtr(x)": "add.Scalar erf.default mul.Scalar*2",
    "T.special.log_ndtr(x * 4)": (
        "div.Tensor*2 erfc.default log.default log1p.default lt.Scalar mul.Tensor*3 neg.default*2 "
        "special_erfcx.default sub.Tensor where.self"
    ),
    "T.mvlgamma(x + 5, 3)": (
        "add.Tensor*3 arange.start_step lgamma.default mul.Tensor sum.dim_IntList "
        "unsqueeze.default"
    ),
    "T.special.xlog1py(x.round(), x)": (
        "eq.Scalar isnan.default log1p.default mul.Tensor round.default scalar_tensor.default*2 "
        "where.self*2"
    ),
    "T.clamp_max(x, 0.5)": "clamp.default",
    "T.clamp_max(x, x * x)": "clamp.Tensor mul.Tensor",
    "T.clamp_min(x, x * x)": "clamp.Tensor mul.Tensor",
    "T.std(x)": "sqrt.default var.correction",
    "T.std(x, 1)": "sqrt.default var.correction",
    "T.std(x, unbiased=False)": "sqrt.default var.correction",
    "T.std(x, 1, correction=2, keepdim=True)": "sqrt.default var.correction",
    "T.var(x)": "var.correction",
    "T.var(x, (0, 2))": "var.correction",
    "T.var(x, 1, False, True)": "var.correction",
    "T.var_mean(x)": "var_mean.correction",
    "T.var_mean(x, 2)": "var_mean.correction",
    "T.std_mean(x, 0)": "sqrt.default var_mean.correction",
    "T.aminmax(x)": "amax.default amin.default",
    "T.aminmax(x, dim=1, keepdim=True)": "amax.default amin.default",
    "T.count_nonzero(x.round())": "ne.Scalar round.default sum.dim_IntList",
    "T.count_nonzero(x > 0.5, 1)": "gt.Scalar ne.Scalar sum.dim_IntList",
    "T.nansum(x / x.round())": (
        "div.Tensor isnan.default round.default scalar_tensor.default sum.dim_IntList where.self"
    ),
    "T.nansum(x, 1, True)": "isnan.default scalar_tensor.default sum.dim_IntList where.self",
    "T.nanmean(x, 0)": (
        "alias.default div.Tensor isnan.default logical_not.default ne.Tensor "
        "scalar_tensor.default sum.dim_IntList*2 where.self"
    ),
    "T.logsumexp(x, 1)": (
        "abs.default add.Tensor amax.default eq.Scalar exp.default log.default "
        "scalar_tensor.default squeeze.dims sub.Tensor sum.dim_IntList where.self"
    ),
    "T.logsumexp(x, (0, 2), True)": (
        "abs.default add.Tensor amax.default eq.Scalar exp.default log.default "
        "scalar_tensor.default sub.Tensor sum.dim_IntList where.self"
    ),
    "T.logsumexp(n, 0)": (
        "_to_copy.default abs.default add.Tensor amax.default eq.Scalar exp.default log.default "
        "scalar_tensor.default squeeze.dims sub.Tensor sum.dim_IntList where.self"
    ),
    "T.all(x > 0.2)": "any.dims gt.Scalar logical_not.default*2",
    "T.all(x > 0.2, 1)": "any.dim gt.Scalar logical_not.default*2",
    "T.all(n, 0, True)": "any.dim logical_not.default*2",
    "T.all(x, (0, 1))": "any.dims logical_not.default*2",
    "T.trace(x[0])": "diagonal.default select.int sum.dim_IntList",
    "T.renorm(x, 2, 1, 0.7)": (
        "add.Tensor gt.Scalar linalg_vector_norm.default mul.Tensor*2 reciprocal.default "
        "scalar_tensor.default where.self"
    ),
    "T.linalg.norm(x[0])": "linalg_vector_norm.default select.int",
    "T.linalg.norm(x, dim=1)": "linalg_vector_norm.default",
    "T.linalg.norm(x[0], 1)": "amax.default linalg_vector_norm.default select.int",
    "T.linalg.norm(x[0, 0], 3)": "linalg_vector_norm.default select.int*2",
    "T.linalg.matrix_norm(x)": "linalg_vector_norm.default",
    "T.linalg.matrix_norm(x, 1)": "amax.default linalg_vector_norm.default",
    "T.linalg.matrix_norm(x, float('-inf'), keepdim=True)": (
        "amin.default linalg_vector_norm.default"
    ),
    "T.roll(x, 1, 1)": "add.Tensor arange.start_step fmod.Scalar index_select.default",
    "T.roll(x, (1, -2), (0, 2))": (
        "add.Tensor*2 arange.start_step*2 fmod.Scalar*2 index_select.default*2"
    ),
    "T.roll(x, 5)": "add.Tensor arange.start_step fmod.Scalar index_select.default view.default*2",
    "T.index_add(x, 1, i, x, alpha=2)": "index_put.default mul.Tensor",
    "T.index_copy(x, 1, i[:2], x[:, :2])": "index_put.default slice.Tensor*2",
    "T.index_fill(x, 1, i, 2)": "expand.default index_put.default scalar_tensor.default",
    "T.index_fill(x, 1, i[:1], x[0, 0, 0])": (
        "expand.default index_put.default select.int*3 slice.Tensor"
    ),
    "T.take(x, i)": "index.Tensor view.default",
    "T.take_along_dim(x, T.argsort(x, 1), 1)": (
        "expand.default*2 gather.default remainder.Scalar sort.default"
    ),
    "T.take_along_dim(x, T.argsort(x, 1))": "gather.default sort.default view.default*2",
    "T.select_scatter(x, x[:, 0] * 2, 1, -1)": (
        "arange.start_step eq.Scalar expand.default mul.Tensor select.int unsqueeze.default "
        "view.default where.self"
    ),
    "T.repeat_interleave(x, 2, 1)": "expand.default unsqueeze.default view.default",
    "T.repeat_interleave(x, 3)": "expand.default unsqueeze.default view.default*2",
    "T.dot(x[0, 0], x[0, 1])": "mul.Tensor select.int*4 sum.dim_IntList",
    "T.vdot(x[0, 0], x[0, 1])": "mul.Tensor select.int*4 sum.dim_IntList",
    "T.mv(x[0], x[0, 0])": "mul.Tensor select.int*3 sum.dim_IntList",
    "T.outer(x[0, 0], x[0, 1])": "mul.Tensor select.int*4 view.default",
    "T.inner(x, x + 1)": "add.Tensor mm.default permute.default*2 view.default*3",
    "T.linalg.vecdot(x, x)": "mul.Tensor sum.dim_IntList",
    "T.addr(x[0], x[0, :, 0], x[0, 0], beta=2)": (
        "add.Tensor expand.default mul.Tensor*3 select.int*5 view.default"
    ),
    "T.addr(x[0], x[0, :, 0], x[0, 0], beta=0)": "mul.Tensor*2 select.int*4 view.default",
    "T.kron(x[0], x)": "mul.Tensor select.int view.default*3",
    "T.cross(x, x * x, dim=1)": (
        "add.Tensor*4 arange.start_step index_select.default*4 mul.Tensor*3 remainder.Scalar*4 "
        "sub.Tensor"
    ),
    "T.linalg.cross(x.mT, x[:1].mT)": (
        "add.Tensor*4 arange.start_step expand.default index_select.default*4 mul.Tensor*2 "
        "permute.default*2 remainder.Scalar*4 slice.Tensor sub.Tensor"
    ),
    "T.linalg.multi_dot((x[0], x[1].t()))": "mm.default permute.default select.int*2 view.default",
    "T.linalg.multi_dot((x[0], x[1].t(), x[1]))": (
        "mm.default*2 permute.default select.int*3 view.default"
    ),
    "T.linalg.matrix_power(x[:, :, :3], 3)": (
        "bmm.default*2 expand.default*4 slice.Tensor view.default*6"
    ),
    "T.linalg.matrix_power(x[:, :, :3], 5)": (
        "bmm.default*3 expand.default*6 slice.Tensor view.default*9"
    ),
    "T.matmul(x, x.mT)": "bmm.default expand.default*2 permute.default view.default*3",
    "T.diag(x[0])": "diagonal.default select.int",
    "T.diag(x[0, 0], -1)": (
        "arange.start_step*2 cat.default eq.Tensor full.default permute.default "
        "scalar_tensor.default select.int*2 unsqueeze.default*2 view.default where.self"
    ),
    "T.diag_embed(x)": (
        "arange.start_step*2 eq.Tensor permute.default scalar_tensor.default unsqueeze.default*2 "
        "view.default where.self"
    ),
    "T.diag_embed(x, 1, 0, 2)": (
        "arange.start_step*2 cat.default eq.Tensor full.default permute.default "
        "scalar_tensor.default unsqueeze.default*2 view.default where.self"
    ),
    "T.eye(3)": "_to_copy.default arange.start_step*2 eq.Tensor unsqueeze.default",
    "T.eye(2, 3, dtype=T.int64)": (
        "_to_copy.default arange.start_step*2 eq.Tensor unsqueeze.default"
    ),
    "T.fliplr(x)": "flip.default",
    "T.flipud(x)": "flip.default",
    "T.rot90(x)": "flip.default permute.default",
    "T.rot90(x, 2, (1, 2))": "flip.default",
    "T.rot90(x, 3, (1, 2))": "flip.default permute.default",
    "T.tile(x, (1, 2))": "repeat.default",
    "T.ravel(x)": "view.default",
    "T.msort(x)": "sort.default",
    "T.argsort(x)": "sort.default",
    "T.argsort(x, 1, True)": "sort.default",
    "T.argsort(x, stable=True)": "sort.stable",
    "T.adjoint(x)": "permute.default",
    "T.unbind(x, 1)": "slice.Tensor*3 squeeze.dims*3",
    "T.unsafe_chunk(x, 2, 1)": "split_with_sizes.default",
    "T.broadcast_tensors(x, x[0])[1]": "expand.default select.int",
    "T.linalg.diagonal(x)": "diagonal.default",
    "T.diff(x)": "slice.Tensor*2 sub.Tensor",
    "T.diff(x, 2, 1)": "slice.Tensor*4 sub.Tensor*2",
    "T.diff(x > 0.5, prepend=x[:, :, :1] > 0.3)": (
        "cat.default gt.Scalar*2 logical_xor.default slice.Tensor*3"
    ),
    "T.gradient(x, dim=1)": "cat.default div.Scalar*4 slice.Tensor*6 sub.Tensor*3",
    "T.gradient(x, spacing=2.0)": "cat.default*3 div.Scalar*12 slice.Tensor*18 sub.Tensor*9",
    "T.trapezoid(x)": "add.Tensor mul.Scalar*2 select.int*2 sub.Tensor sum.dim_IntList",
    "T.trapezoid(x, x * x, dim=1)": (
        "add.Tensor div.Scalar mul.Tensor*2 slice.Tensor*4 sub.Tensor sum.dim_IntList"
    ),
    "T.cumulative_trapezoid(x, dx=0.5)": "add.Tensor cumsum.default mul.Scalar slice.Tensor*2",
    "T.cumulative_trapezoid(x, x * x)": (
        "add.Tensor cumsum.default div.Scalar mul.Tensor*2 slice.Tensor*4 sub.Tensor"
    ),
    "T.linspace(0, 1, 5)": (
        "_to_copy.default*2 add.Tensor arange.start_step lt.Scalar mul.Tensor*2 sub.Tensor*2 "
        "where.self"
    ),
    "T.linspace(2, 1, 1)": "full.default",
    "T.linspace(0, 1, 4, dtype=T.float16)": (
        "_to_copy.default*3 add.Tensor arange.start_step lt.Scalar mul.Tensor*2 sub.Tensor*2 "
        "where.self"
    ),
    "F.linear(x[0, 0], x[1])": (
        "mm.default permute.default select.int*3 squeeze.dims unsqueeze.default"
    ),
    "F.pairwise_distance(x, x * x, 1.0, keepdim=True)": (
        "add.Scalar linalg_vector_norm.default mul.Tensor sub.Tensor"
    ),
    "F.margin_ranking_loss(x, x * x, x.round() * 2 - 1, 0.1)": (
        "add.Scalar clamp.default mean.default mul.Tensor*3 neg.default round.default "
        "sub.Tensor*2"
    ),
    "F.hinge_embedding_loss(x, x.round() * 2 - 1, 0.5, reduction='sum')": (
        "add.Tensor clamp.default empty_permuted.default full_like.default*2 mul.Tensor "
        "ne.Scalar*2 round.default sub.Tensor*2 sum.dim_IntList where.self*2"
    ),
    "F.cosine_embedding_loss(x[0], x[1], x[0, :, 0].round() * 2 - 1, 0.2, reduction='none')": (
        "add.Scalar*2 add.Tensor clamp.default div.Tensor empty_permuted.default eq.Scalar*2 "
        "full_like.default*2 mul.Tensor*5 round.default select.int*4 sqrt.default sub.Scalar "
        "sub.Tensor*2 sum.dim_IntList*3 where.self*2"
    ),
    "F.triplet_margin_loss(x, x * x, x + 1)": (
        "add.Scalar*3 add.Tensor clamp.default linalg_vector_norm.default*2 mean.default "
        "mul.Tensor sub.Tensor*3"
    ),
    "F.triplet_margin_loss(x, x + 1, x * x, 2.0, 1.0, swap=True, reduction='sum')": (
        "add.Scalar*4 add.Tensor clamp.default linalg_vector_norm.default*3 minimum.default "
        "mul.Tensor sub.Tensor*4 sum.dim_IntList"
    ),
    "F.poisson_nll_loss(x, x * 3)": "exp.default mean.default mul.Tensor*2 sub.Tensor",
    "F.poisson_nll_loss(x, x * 3, False, True, reduction='none')": (
        "add.Scalar add.Tensor*2 le.Scalar log.default*3 mul.Scalar*2 mul.Tensor*3 "
        "scalar_tensor.default sub.Tensor*2 where.self"
    ),
    "F.kl_div(x.log(), x * x, reduction='sum')": (
        "eq.Scalar isnan.default log.default*2 mul.Tensor*3 scalar_tensor.default*2 sub.Tensor "
        "sum.dim_IntList where.self*2"
    ),
    "F.kl_div(x.log(), x.log(), reduction='batchmean', log_target=True)": (
        "div.Tensor exp.default log.default*2 mul.Tensor sub.Tensor sum.dim_IntList"
    ),
    "F.pad(x, (1, 2), 'circular')": (
        "copy.default*3 empty.memory_format slice.Tensor*6 slice_scatter.default*3"
    ),
    "F.pad(x[None], (-1, 2, 1, 0), 'circular')": (
        "copy.default*3 empty.memory_format slice.Tensor*9 slice_scatter.default*4 "
        "unsqueeze.default"
    ),
    "F.pad(x[None, None], (1, 1) * 3, 'circular')": (
        "copy.default*7 empty.memory_format slice.Tensor*20 slice_scatter.default*9 "
        "unsqueeze.default*2"
    ),
    "F.max_unpool1d(x[:, :, :2], n[None].expand(2, 2, 2)[:, :1].expand(2, 3, 2), 2)": (
        "add.Tensor arange.start_step expand.default*2 full.default index_put.default mul.Tensor "
        "slice.Tensor*2 squeeze.dims unsqueeze.default*3 view.default*5"
    ),
    "F.max_unpool2d(x[:, :2, :2], n[None].expand(2, 2, 2), 2)": (
        "add.Tensor arange.start_step expand.default full.default index_put.default mul.Tensor "
        "slice.Tensor*2 unsqueeze.default view.default*5"
    ),
    "F.max_unpool2d(x[None, :, :2, :2], n[None, None].expand(1, 2, 2, 2), 2, output_size=(5, 4))": (
        "add.Tensor arange.start_step expand.default full.default index_put.default mul.Tensor "
        "slice.Tensor*2 unsqueeze.default*3 view.default*5"
    ),
    "F.max_unpool3d(x[None, :1, None, :2, :2], n[None, None, None], (1, 2, 2))": (
        "add.Tensor arange.start_step full.default index_put.default mul.Tensor slice.Tensor*3 "
        "unsqueeze.default*5 view.default*5"
    ),
    "T.full_like(x, 2)": "full_like.default",
    "T.empty_like(x).fill_(3)": "empty_permuted.default full_like.default",
    "F.gumbel_softmax(x, dim=1)": (
        "_softmax.default add.Tensor div.Tensor empty.memory_format exponential.default "
        "log.default neg.default"
    ),
    "x.sum_to_size(1, 3, 4)": "sum.dim_IntList",
    "x.sum_to_size(4)": "sum.dim_IntList view.default",
    "x.clone().masked_fill_(x > 0.5, 0.0)": "gt.Scalar scalar_tensor.default where.self",
    "x.clone().lerp_(x + 1, 0.5)": (
        "abs.default add.Tensor*2 full.default ge.Scalar mul.Tensor sub.Tensor*2 where.self*2"
    ),
}  # fmt: skip
