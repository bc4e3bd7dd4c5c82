"""The tags of ATen's overloads, as PyTorch 2.13 gives them: facts for programs that ask.

What the name or the schema of an overload tells is no entry: that it writes in place or to
``out=``, or draws random numbers. Of each op a word names its overloads after a colon.
"""

from __future__ import annotations

import functools

from rushlight.library.tags import Tag

_TAGGED = {
    Tag.core: (
        "_adaptive_avg_pool2d:default _adaptive_avg_pool3d:default _cdist_forward:default "
        "_embedding_bag:default _local_scalar_dense:default _log_softmax:default "
        "_native_batch_norm_legit:default,no_stats _native_batch_norm_legit_no_training:default "
        "_pdist_forward:default _softmax:default _to_copy:default abs:default acos:default "
        "acosh:default adaptive_avg_pool1d:default add:Scalar,Tensor addmm:default alias:default "
        "amax:default amin:default any:default,dim,dims arange:start_step argmax:default "
        "argmin:default as_strided:default asin:default asinh:default atan:default "
        "atan2:default,out atanh:default avg_pool1d:default avg_pool2d:default avg_pool3d:default "
        "bitwise_and:Scalar,Tensor bitwise_not:default bitwise_or:Scalar,Tensor "
        "bitwise_xor:Scalar,Tensor bmm:default cat:default ceil:default clamp:Tensor,default "
        "clone:default col2im:default constant_pad_nd:default convolution:default copy:default "
        "cos:default cosh:default cumsum:default diagonal:default "
        "div:Scalar,Scalar_mode,Tensor,Tensor_mode elu:default embedding:default "
        "empty:memory_format empty_strided:default eq:Scalar,Tensor erf:default exp:default "
        "expand:default expm1:default fill:Scalar flip:default floor:default fmod:Scalar,Tensor "
        "full:default full_like:default gather:default ge:Scalar,Tensor gelu:default "
        "grid_sampler_2d:default gt:Scalar,Tensor hardtanh:default index:Tensor index_put:default "
        "index_select:default isinf:default isnan:default le:Scalar,Tensor leaky_relu:default "
        "log:default log10:default log1p:default log2:default logical_and:default "
        "logical_not:default logical_or:default logical_xor:default lt:Scalar,Tensor "
        "masked_scatter:default max:dim max_pool2d_with_indices:default "
        "max_pool2d_with_indices_backward:default max_pool3d_with_indices:default maximum:default "
        "mean:default,dim min:dim minimum:default mm:default mul:Scalar,Tensor "
        "native_dropout:default native_group_norm:default native_layer_norm:default "
        "ne:Scalar,Tensor neg:default nonzero:default permute:default "
        "pow:Scalar,Tensor_Scalar,Tensor_Tensor prod:default,dim_int rand:default randn:default "
        "randperm:default reciprocal:default relu:default remainder:Scalar,Tensor repeat:default "
        "resize_:default round:default rsqrt:default scalar_tensor:default scatter:src,value "
        "scatter_add:default scatter_reduce:two select:int select_scatter:default sigmoid:default "
        "sign:default sin:default sinh:default slice:Tensor slice_scatter:default sort:default "
        "split_with_sizes:default sqrt:default squeeze:dim,dims sub:Scalar,Tensor sum:dim_IntList "
        "sym_numel:default sym_size:int sym_stride:int tan:default tanh:default topk:default "
        "trunc:default unsqueeze:default upsample_bilinear2d:vec upsample_nearest2d:vec "
        "var:correction,dim view:default where:self"
    ),
    Tag.pointwise: (
        "abs:default,out acos:default,out acos_:default acosh:default,out acosh_:default "
        "add:Scalar,Tensor,out add_:Scalar,Tensor addcdiv:default,out addcdiv_:default "
        "addcmul:default,out addcmul_:default angle:default,out asin:default,out asin_:default "
        "asinh:default,out asinh_:default atan:default,out atan2:default,out atan2_:default "
        "atan_:default atanh:default,out atanh_:default "
        "bitwise_and:Scalar,Scalar_Tensor,Scalar_out,Tensor,Tensor_out bitwise_and_:Scalar,Tensor "
        "bitwise_left_shift:Scalar_Tensor,Tensor,Tensor_Scalar,Tensor_Scalar_out,Tensor_out "
        "bitwise_left_shift_:Tensor,Tensor_Scalar bitwise_not:default,out bitwise_not_:default "
        "bitwise_or:Scalar,Scalar_Tensor,Scalar_out,Tensor,Tensor_out bitwise_or_:Scalar,Tensor "
        "bitwise_right_shift:Scalar_Tensor,Tensor,Tensor_Scalar,Tensor_Scalar_out,Tensor_out "
        "bitwise_right_shift_:Tensor,Tensor_Scalar "
        "bitwise_xor:Scalar,Scalar_Tensor,Scalar_out,Tensor,Tensor_out bitwise_xor_:Scalar,Tensor "
        "ceil:default,out ceil_:default celu:default celu_:default "
        "clamp:Tensor,Tensor_out,default,out clamp_:Tensor,default "
        "clamp_max:Tensor,Tensor_out,default,out clamp_max_:Tensor,default "
        "clamp_min:Tensor,Tensor_out,default,out clamp_min_:Tensor,default "
        "clip:Tensor,default,out clip_:Tensor,default clone:default conj_physical:default,out "
        "conj_physical_:default copysign:Scalar,Scalar_out,Tensor,out cos:default,out "
        "cos_:default cosh:default,out cosh_:default deg2rad:default,out deg2rad_:default "
        "digamma:default,out digamma_:default "
        "div:Scalar,Scalar_mode,Tensor,Tensor_mode,out,out_mode "
        "div_:Scalar,Scalar_mode,Tensor,Tensor_mode elu:default elu_:default "
        "eq:Scalar,Scalar_out,Tensor,Tensor_out equal:default erf:default,out erf_:default "
        "erfc:default,out erfc_:default erfinv:default,out erfinv_:default exp:default,out "
        "exp2:default,out exp2_:default exp_:default expm1:default,out expm1_:default "
        "float_power:Scalar,Scalar_out,Tensor_Scalar,Tensor_Scalar_out,Tensor_Tensor "
        "float_power:Tensor_Tensor_out "
        "float_power_:Scalar,Tensor floor:default,out floor_:default fmax:default,out "
        "fmin:default,out fmod:Scalar,Scalar_out,Tensor,Tensor_out fmod_:Scalar,Tensor "
        "frac:default,out frac_:default frexp:Tensor,Tensor_out gcd:default,out "
        "ge:Scalar,Scalar_out,Tensor,Tensor_out gelu:default "
        "gt:Scalar,Scalar_out,Tensor,Tensor_out hardshrink:default hardsigmoid:default "
        "hardsigmoid_:default hardtanh:default hardtanh_:default heaviside:default,out "
        "hypot:default,out hypot_:default i0:default,out i0_:default igamma:default,out "
        "igamma_:default igammac:default,out igammac_:default isfinite:default isinf:default "
        "isnan:default isneginf:default,out isposinf:default,out lcm:default,out ldexp:Tensor,out "
        "ldexp_:default le:Scalar,Scalar_out,Tensor,Tensor_out leaky_relu:default "
        "leaky_relu_:default lerp:Scalar,Scalar_out,Tensor,Tensor_out lerp_:Scalar,Tensor "
        "lgamma:default,out lgamma_:default log:default,out log10:default,out log10_:default "
        "log1p:default,out log1p_:default log2:default,out log2_:default log_:default "
        "logaddexp:default,out logaddexp2:default,out logical_and:default,out "
        "logical_and_:default logical_not:default,out logical_not_:default logical_or:default,out "
        "logical_or_:default logical_xor:default,out logical_xor_:default logit:default,out "
        "logit_:default lt:Scalar,Scalar_out,Tensor,Tensor_out masked_fill:Scalar max:other,out "
        "maximum:default,out min:other,out minimum:default,out mish:default mul:Scalar,Tensor,out "
        "mul_:Scalar,Tensor mvlgamma:default,out mvlgamma_:default nan_to_num:default,out "
        "nan_to_num_:default native_dropout_backward:default "
        "ne:Scalar,Scalar_out,Tensor,Tensor_out neg:default,out neg_:default "
        "nextafter:default,out nextafter_:default polygamma:default,out polygamma_:default "
        "positive:default pow:Scalar,Tensor_Scalar,Tensor_Tensor pow_:Scalar,Tensor "
        "rad2deg:default,out rad2deg_:default reciprocal:default,out reciprocal_:default "
        "relu:default relu6:default relu_:default "
        "remainder:Scalar,Scalar_Tensor,Scalar_out,Tensor,Tensor_out remainder_:Scalar,Tensor "
        "round:decimals,decimals_out,default,out round_:decimals,default rrelu:default "
        "rsqrt:default,out rsqrt_:default rsub:Scalar selu:default selu_:default sgn:default,out "
        "sgn_:default sigmoid:default,out sigmoid_:default sign:default,out sign_:default "
        "signbit:default,out silu:default,out silu_:default sin:default,out sin_:default "
        "sinc:default,out sinc_:default sinh:default,out sinh_:default softplus:default "
        "softshrink:default special_airy_ai:default,out special_bessel_j0:default,out "
        "special_bessel_j1:default,out special_bessel_y0:default,out "
        "special_bessel_y1:default,out "
        "special_chebyshev_polynomial_t:default,n_scalar,out,x_scalar "
        "special_chebyshev_polynomial_u:default,n_scalar,out,x_scalar "
        "special_chebyshev_polynomial_v:default,n_scalar,out,x_scalar "
        "special_chebyshev_polynomial_w:default,n_scalar,out,x_scalar special_entr:default,out "
        "special_erfcx:default,out special_hermite_polynomial_h:default,n_scalar,out,x_scalar "
        "special_hermite_polynomial_he:default,n_scalar,out,x_scalar special_i0e:default,out "
        "special_i1:default,out special_i1e:default,out "
        "special_laguerre_polynomial_l:default,n_scalar,out,x_scalar "
        "special_legendre_polynomial_p:default,n_scalar,out,x_scalar special_log_ndtr:default,out "
        "special_modified_bessel_i0:default,out special_modified_bessel_i1:default,out "
        "special_modified_bessel_k0:default,out special_modified_bessel_k1:default,out "
        "special_ndtri:default,out special_scaled_modified_bessel_k0:default,out "
        "special_scaled_modified_bessel_k1:default,out "
        "special_shifted_chebyshev_polynomial_t:default,n_scalar,out,x_scalar "
        "special_shifted_chebyshev_polynomial_u:default,n_scalar,out,x_scalar "
        "special_shifted_chebyshev_polynomial_v:default,n_scalar,out,x_scalar "
        "special_shifted_chebyshev_polynomial_w:default,n_scalar,out,x_scalar "
        "special_spherical_bessel_j0:default,out special_xlog1py:default,out "
        "special_zeta:default,other_scalar,out,self_scalar sqrt:default,out sqrt_:default "
        "square:default,out square_:default sub:Scalar,Tensor,out sub_:Scalar,Tensor "
        "tan:default,out tan_:default tanh:default,out tanh_:default threshold:default "
        "true_divide:Tensor trunc:default,out trunc_:default where:self "
        "xlogy:OutScalar_Other,OutScalar_Self,OutTensor,Scalar_Other,Scalar_Self,Tensor "
        "xlogy_:Tensor"
    ),
    Tag.reduction: (
        "all:all_out,default,dim,dims,dims_out,out amax:default,out amin:default,out "
        "aminmax:default,out any:all_out,default,dim,dims,dims_out,out argmax:default,out "
        "argmin:default,out count_nonzero:default,dim_IntList linalg_vector_norm:default,out "
        "logsumexp:default,out max:default,dim,dim_max,unary_out mean:default,dim,dtype_out,out "
        "min:default,dim,dim_min,unary_out nansum:default,out norm:out "
        "prod:default,dim_int,int_out std:correction,correction_out,default,dim,out "
        "std_mean:correction,default,dim sum:IntList_out,default,dim_IntList "
        "var:correction,correction_out,default,dim,out var_mean:correction,default,dim"
    ),
    Tag.generated: (
        "_adaptive_avg_pool2d:out _adaptive_avg_pool3d:out _cdist_forward:out _convolution:out "
        "_dirichlet_grad:out _embedding_bag:out _embedding_bag_forward_only:out "
        "_fake_quantize_per_tensor_affine_cachemask_tensor_qparams:out _foreach_abs:out "
        "_foreach_acos:out _foreach_asin:out _foreach_atan:out _foreach_ceil:out "
        "_foreach_clone:out _foreach_cos:out _foreach_cosh:out _foreach_erf:out _foreach_erfc:out "
        "_foreach_exp:out _foreach_expm1:out _foreach_floor:out _foreach_frac:out "
        "_foreach_lgamma:out _foreach_log:out _foreach_log10:out _foreach_log1p:out "
        "_foreach_log2:out _foreach_max:out _foreach_neg:out _foreach_reciprocal:out "
        "_foreach_round:out _foreach_rsqrt:out _foreach_sigmoid:out _foreach_sign:out "
        "_foreach_sin:out _foreach_sinh:out _foreach_sqrt:out _foreach_tan:out _foreach_tanh:out "
        "_foreach_trunc:out _native_batch_norm_legit_functional:default "
        "_native_batch_norm_legit_no_training:out _pack_padded_sequence:out _pdist_forward:out "
        "_pin_memory:out _sample_dirichlet:out _sparse_addmm:out _standard_gamma:out "
        "_standard_gamma_grad:out _to_copy:out _trilinear:out _unique2:out _unsafe_view:out "
        "adaptive_avg_pool1d:out add:Scalar_out affine_grid_generator:out alias_copy:out "
        "as_strided_copy:out as_strided_scatter:out avg_pool1d:out "
        "bartlett_window:out,periodic_out bernoulli:Tensor,Tensor_out,float_out "
        "binary_cross_entropy_with_logits:out bincount:out binomial:out "
        "bitwise_and:Scalar_Tensor_out bitwise_left_shift:Scalar_Tensor_out "
        "bitwise_or:Scalar_Tensor_out bitwise_right_shift:Scalar_Tensor_out "
        "bitwise_xor:Scalar_Tensor_out blackman_window:out,periodic_out block_diag:out "
        "bucketize:Scalar_out cauchy:default,out celu:out channel_shuffle:out clone:out "
        "constant_pad_nd:out conv_tbc:out convolution:out copy:out "
        "count_nonzero:dim_IntList_out,out dequantize:self_out,tensors_out detach_copy:out "
        "diag_embed:out diagonal_copy:out diagonal_scatter:out dist:out "
        "div:Scalar_mode_out,Scalar_out embedding:out empty_like:out empty_permuted:out "
        "empty_strided:out expand_copy:out exponential:default,out "
        "fake_quantize_per_channel_affine_cachemask:out "
        "fake_quantize_per_tensor_affine_cachemask:out fill:Scalar_out,Tensor_out flip:out "
        "floor_divide:Scalar_out full_like:out geometric:default,out grid_sampler_2d:out "
        "grid_sampler_3d:out hamming_window:out hann_window:out,periodic_out "
        "index_fill:int_Scalar_out,int_Tensor_out index_put:out isinf:out isnan:out "
        "kaiser_window:beta_out,out,periodic_out lift_fresh_copy:out linalg_matrix_exp:out "
        "log_normal:default,out masked_fill:Scalar_out,Tensor_out masked_scatter:out median:out "
        "mul:Scalar_out nanmedian:out native_dropout:out native_dropout_backward:out "
        "native_group_norm:out native_layer_norm:out new_empty:out new_empty_strided:out "
        "new_full:out new_ones:out new_zeros:out normal:out ones_like:out permute_copy:out "
        "pixel_shuffle:out pixel_unshuffle:out poisson:out prod:out put:out rand_like:out "
        "randint_like:Tensor_out,low_dtype_out,out randn_like:out random:default,from,out,to "
        "relu:out remainder:Scalar_Tensor_out repeat:out repeat_interleave:Tensor_out "
        "resize:default,out resize_as:default,out roll:out rot90:out "
        "rrelu_with_noise_functional:default rsub:Scalar_out,Tensor_out scalar_tensor:out "
        "segment_reduce:out select_copy:int_out select_scatter:out slice_copy:Tensor_out "
        "slice_scatter:out sparse_mask:out squeeze_copy:dim_out,dims_out,out "
        "std_mean:correction_out sub:Scalar_out sum:out t_copy:out to_mkldnn:out trace:out "
        "transpose_copy:int_out tril_indices:out triu_indices:out unfold_copy:out "
        "uniform:default,out unique_consecutive:out unique_dim:out unsafe_split:Tensor_out "
        "unsafe_split_with_sizes:out unsqueeze_copy:out var_mean:correction_out "
        "view_as_complex_copy:out view_as_real_copy:out view_copy:dtype_out,out zeros_like:out"
    ),
    Tag.view_copy: (
        "alias_copy:default,out as_strided_copy:default,out detach_copy:default,out "
        "diagonal_copy:default,out expand_copy:default,out lift_fresh_copy:default,out "
        "narrow_copy:default permute_copy:default,out select_copy:int_out "
        "slice_copy:Tensor,Tensor_out slice_scatter:default,out split_copy:Tensor "
        "split_with_sizes_copy:default squeeze_copy:default,dim,dim_out,dims,dims_out,out "
        "t_copy:default,out transpose_copy:int_out unbind_copy:int unfold_copy:default,out "
        "unsqueeze_copy:default,out view_as_complex_copy:default,out "
        "view_as_real_copy:default,out view_copy:default,dtype,dtype_out,out"
    ),
    Tag.dynamic_output_shape: (
        "_unique2:default argwhere:default bincount:default index:Tensor linalg_lstsq:default,out "
        "masked_select:default,out nonzero:default,out one_hot:default repeat_interleave:Tensor "
        "unique_consecutive:default unique_dim:default"
    ),
    Tag.data_dependent_output: (
        "_local_scalar_dense:default allclose:default equal:default item:default"
    ),
    Tag.inplace_view: (
        "as_strided_:default detach_:default resize_:default resize_as_:default set_:default "
        "squeeze_:default,dim,dims swapaxes_:default swapdims_:default t_:default "
        "transpose_:default unsqueeze_:default"
    ),
    Tag.maybe_aliasing_or_mutating: (
        "alpha_dropout:default atleast_1d:default atleast_2d:default atleast_3d:default "
        "batch_norm:default cartesian_prod:default conj_physical:default dropout:default "
        "feature_alpha_dropout:default feature_dropout:default unsafe_chunk:default"
    ),
    Tag.needs_exact_strides: ("_scaled_mm:default,out"),
}
# Results that are written to by their names, where no schema says it.
_WRITTEN = frozenset(
    "max.dim_max min.dim_min triangular_solve.X svd.U qr.Q geqrf.a mode.values topk.values "
    "sort.values_stable sort.values max_pool2d_with_indices_backward.grad_input kthvalue.values "
    "median.dim_values nanmedian.dim_values xlogy.OutTensor xlogy.OutScalar_Self "
    "xlogy.OutScalar_Other".split()
)
_NOT_IN_PLACE = frozenset(("copy_.Tensor", "index_put_.hacked_twin"))


@functools.cache
def _table():
    """The tags that are entries, by overload."""
    found: dict = {}
    for tag, text in _TAGGED.items():
        for word in text.split():
            name, _, overloads = word.partition(":")
            for overload in overloads.split(","):
                found.setdefault(f"{name}.{overload}", []).append(tag)
    return found


def tags_of(overload) -> list[Tag]:
    """The tags of one of ATen's overloads, in the order of their names."""
    key = f"{overload.__name__}.{overload._overloadname}"
    found = {Tag.pt2_compliant_tag, *_table().get(key, ())}
    if overload._nondeterministic_seeded:
        found.add(Tag.nondeterministic_seeded)
    name = overload.__name__
    if name.endswith("_") and not name.endswith("__") and key not in _NOT_IN_PLACE:
        found.add(Tag.inplace)
    if _is_out(overload, key):
        found.add(Tag.out)
    return sorted(found, key=lambda tag: tag.name)


def _is_out(overload, key):
    schema = getattr(overload, "_schema", None)
    if key in _WRITTEN or schema is None:
        return key in _WRITTEN or "out" in overload._overloadname.split("_")
    return any(a.keyword_only and a.alias and a.alias.endswith("!") for a in schema.arguments)
