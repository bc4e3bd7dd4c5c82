"""The calls of PyTorch 2.13's programs for the cases of `decomposed_cases`, after its
`run_decompositions`: each op with how often, without copies and checks of metadata."""

CALLS = {
    "cross entropy": (
        "_log_softmax.default _to_copy.default div.Tensor gather.default ne.Scalar*3 "
        "neg.default scalar_tensor.default*2 squeeze.dims sum.dim_IntList*2 unsqueeze.default "
        "where.self*2"
    ),
    "cross entropy, weighted": (
        "_log_softmax.default div.Tensor expand.default gather.default*2 mul.Tensor "
        "ne.Scalar*3 neg.default scalar_tensor.default*3 squeeze.dims*2 sum.dim_IntList*2 "
        "unsqueeze.default view.default where.self*3"
    ),
    "cross entropy, of a row": (
        "_log_softmax.default _to_copy.default div.Tensor gather.default ne.Scalar*3 "
        "neg.default scalar_tensor.default*2 squeeze.dims sum.dim_IntList*2 unsqueeze.default "
        "where.self*2"
    ),
    "cross entropy, summed": (
        "_log_softmax.default gather.default ne.Scalar*2 neg.default scalar_tensor.default*2 "
        "squeeze.dims sum.dim_IntList unsqueeze.default where.self*2"
    ),
    "cross entropy, smooth": (
        "_log_softmax.default _to_copy.default add.Tensor bitwise_not.default div.Tensor*2 "
        "eq.Scalar gather.default mul.Scalar*2 ne.Scalar*3 neg.default*2 "
        "scalar_tensor.default*3 squeeze.dims sum.dim_IntList*5 unsqueeze.default "
        "where.self*3"
    ),
    "cross entropy, smooth and weighted": (
        "_log_softmax.default add.Tensor div.Tensor*2 eq.Scalar expand.default "
        "gather.default*3 mul.Scalar*2 mul.Tensor*2 ne.Scalar*3 neg.default*2 "
        "scalar_tensor.default*6 squeeze.dims*2 sum.dim_IntList*5 unsqueeze.default "
        "view.default*2 where.self*6"
    ),
    "cross entropy, smooth and weighted, of planes": (
        "_log_softmax.default add.Tensor div.Tensor*2 eq.Scalar expand.default "
        "gather.default*3 mul.Scalar*2 mul.Tensor*2 ne.Scalar*3 neg.default*2 "
        "scalar_tensor.default*6 squeeze.dims*2 sum.dim_IntList*5 unsqueeze.default "
        "view.default*6 where.self*6"
    ),
    "cross entropy, smooth and weighted, of a row": (
        "_log_softmax.default add.Tensor div.Tensor*2 eq.Scalar expand.default "
        "gather.default*3 mul.Scalar*2 mul.Tensor*2 ne.Scalar*3 neg.default*2 "
        "scalar_tensor.default*6 squeeze.dims*2 sum.dim_IntList*5 unsqueeze.default "
        "view.default*3 where.self*6"
    ),
    "cross entropy, smooth probabilities": (
        "_log_softmax.default add.Scalar mul.Scalar mul.Tensor neg.default sum.dim_IntList"
    ),
    "cross entropy, of probabilities": (
        "_log_softmax.default div.Scalar mul.Tensor neg.default sum.dim_IntList"
    ),
    "nll, of planes": (
        "gather.default ne.Scalar*2 neg.default scalar_tensor.default*2 squeeze.dims "
        "unsqueeze.default view.default*3 where.self*2"
    ),
    "mse": "mean.default pow.Tensor_Scalar sub.Tensor",
    "mse, weighted": "div.Tensor mul.Tensor pow.Tensor_Scalar sub.Tensor sum.dim_IntList*2",
    "l1": "abs.default sub.Tensor sum.dim_IntList",
    "smooth l1": (
        "abs.default div.Tensor lt.Scalar mean.default mul.Tensor pow.Tensor_Scalar "
        "sub.Tensor*2 where.self"
    ),
    "smooth l1, sharp": "abs.default mean.default sub.Tensor",
    "huber": "abs.default lt.Scalar mul.Tensor*3 sub.Tensor*2 where.self",
    "binary cross entropy": (
        "full.default*2 log.default log1p.default maximum.default*2 mean.default mul.Tensor*2 "
        "neg.default sub.Tensor*2"
    ),
    "binary cross entropy, of logits": (
        "abs.default add.Tensor exp.default full.default log1p.default mean.default "
        "minimum.default mul.Tensor*4 neg.default sub.Tensor*4"
    ),
    "kl div": (
        "eq.Scalar isnan.default log.default mul.Tensor*2 scalar_tensor.default*2 sub.Tensor "
        "where.self*2"
    ),
    "kl div, of logarithms": "exp.default mul.Tensor sub.Tensor sum.dim_IntList",
    "multi margin": (
        "add.Tensor arange.start_step clamp.default gather.default mean.default ne.Tensor "
        "scalar_tensor.default sub.Tensor unsqueeze.default where.self"
    ),
    "attention": (
        "_softmax.default any.dim bmm.default*2 eq.Scalar expand.default*4 full_like.default "
        "logical_not.default*2 mul.Scalar*2 permute.default*3 view.default*6 where.self"
    ),
    "attention, causal": (
        "_softmax.default add.Tensor any.dim arange.start_step*2 bmm.default*2 eq.Scalar "
        "expand.default*4 full.default full_like.default le.Scalar logical_and.default "
        "logical_not.default*2 mul.Scalar*2 permute.default*3 scalar_tensor.default*2 "
        "sub.Tensor unsqueeze.default*2 view.default*6 where.self*2"
    ),
    "attention, masked": (
        "_softmax.default add.Tensor any.dim bmm.default*2 eq.Scalar expand.default*4 "
        "full_like.default gt.Scalar logical_not.default*2 mul.Scalar*2 permute.default*3 "
        "scalar_tensor.default*2 view.default*6 where.self*2"
    ),
    "attention, dropped": (
        "_softmax.default any.dim bmm.default*2 eq.Scalar expand.default*4 full_like.default "
        "logical_not.default*2 mul.Scalar*2 native_dropout.default permute.default "
        "view.default*6 where.self"
    ),
    "attention, grouped": (
        "_softmax.default any.dim bmm.default*2 eq.Scalar expand.default*6 full_like.default "
        "logical_not.default*2 mul.Scalar*2 permute.default*3 unsqueeze.default*2 "
        "view.default*8 where.self"
    ),
    "dropout": "native_dropout.default",
    "dropout of channels": "bernoulli.p div.Scalar empty.memory_format mul.Tensor",
    "alpha dropout": (
        "add.Scalar*2 add.Tensor bernoulli.p empty_permuted.default mul.Scalar*2 mul.Tensor"
    ),
    "alpha dropout of channels": (
        "add.Scalar*2 add.Tensor bernoulli.p empty.memory_format mul.Scalar*2 mul.Tensor"
    ),
    "instance norm": "_native_batch_norm_legit.no_stats repeat.default*2 view.default*2",
    "rms norm": "add.Scalar mean.dim mul.Tensor*2 pow.Tensor_Scalar rsqrt.default",
    "selu": "elu.default sub.Tensor",
    "celu": "div.Tensor expm1.default gt.Scalar mul.Tensor sub.Tensor where.self",
    "mish": "exp.default gt.Scalar log1p.default mul.Tensor tanh.default where.self",
    "hardswish": "add.Tensor clamp.default*2 div.Tensor mul.Tensor sub.Tensor",
    "hardsigmoid": "add.Tensor clamp.default*2 div.Tensor sub.Tensor",
    "softplus": "div.Tensor exp.default gt.Scalar log1p.default mul.Tensor*2 where.self",
    "softshrink": "abs.default gt.Scalar mul.Tensor*2 sign.default sub.Tensor*2 where.self",
    "hardshrink": "abs.default le.Scalar scalar_tensor.default sub.Tensor where.self",
    "logsigmoid": (
        "abs.default exp.default full.default log1p.default minimum.default mul.Tensor "
        "neg.default sub.Tensor*2"
    ),
    "glu": "mul.Tensor sigmoid.default slice.Tensor*2",
    "prelu": "gt.Scalar mul.Tensor sub.Tensor view.default where.self",
    "threshold": "le.Scalar scalar_tensor.default where.self",
    "softmax in another dtype": "_softmax.default _to_copy.default",
    "max pool 1d": "max_pool2d_with_indices.default squeeze.dims*2 unsqueeze.default",
    "max pool 3d": "max_pool3d_with_indices.default",
    "avg pool 1d": "avg_pool2d.default squeeze.dims unsqueeze.default",
    "adaptive avg pool 1d": "mean.dim squeeze.dims unsqueeze.default",
    "adaptive avg pool 3d": "mean.dim",
    "adaptive max pool 1d": "adaptive_max_pool2d.default squeeze.dims unsqueeze.default",
    "convolution, the same": "constant_pad_nd.default convolution.default",
    "convolution, transposed": "convolution.default squeeze.dims unsqueeze.default",
    "one hot": (
        "_assert_async.msg*2 _to_copy.default any.dims*2 arange.start_step eq.Tensor "
        "ge.Scalar logical_not.default*4 lt.Scalar unsqueeze.default"
    ),
    "reflected": "abs.default*4 arange.start_step*2 index.Tensor*2 sub.Tensor*4",
    "replicated": "arange.start_step*2 clamp.default*2 index.Tensor*2",
    "around": "copy.default*3 empty.memory_format slice.Tensor*6 slice_scatter.default*3",
    "pixel shuffle": "permute.default view.default*2",
    "pixel unshuffle": "permute.default view.default*2",
    "channel shuffle": "permute.default view.default*2",
    "cosine similarity": (
        "clamp.Tensor*2 div.Tensor*2 linalg_vector_norm.default*2 mul.Tensor "
        "scalar_tensor.default sum.dim_IntList"
    ),
    "choices": (
        "arange.start_step*4 ge.Scalar gt.Scalar le.Scalar scalar_tensor.default*3 "
        "sub.Tensor*3 unsqueeze.default*4 where.self*3"
    ),
    "LSTM": (
        "add.Tensor*16 addmm.default*12 cat.default*8 flip.default*2 full.default*2 "
        "mul.Tensor*24 permute.default*12 sigmoid.default*24 slice.Tensor*16 "
        "split_with_sizes.default*8 squeeze.dims*24 tanh.default*16 unsqueeze.default*8 "
        "view.default*26"
    ),
    "LSTM, projected": (
        "add.Tensor*4 addmm.default*3 cat.default*3 full.default*2 mm.default*2 mul.Tensor*6 "
        "permute.default*5 sigmoid.default*6 slice.Tensor*4 split_with_sizes.default*2 "
        "squeeze.dims*6 tanh.default*4 unsqueeze.default*2 view.default*12"
    ),
    "LSTM, dropped": (
        "add.Tensor*8 cat.default*4 full.default*2 mm.default*6 mul.Tensor*12 "
        "permute.default*6 sigmoid.default*12 slice.Tensor*8 split_with_sizes.default*4 "
        "squeeze.dims*12 tanh.default*8 unsqueeze.default*4 view.default*14"
    ),
    "LSTM, without a batch": (
        "add.Tensor*6 addmm.default*4 cat.default*3 full.default*2 mul.Tensor*9 "
        "permute.default*4 sigmoid.default*9 slice.Tensor*5 split_with_sizes.default*3 "
        "squeeze.dims*10 tanh.default*6 unsqueeze.default*3 view.default*10"
    ),
    "LSTM, the batch first": (
        "add.Tensor*7 addmm.default*3 bmm.default cat.default*3 expand.default*2 "
        "full.default*2 mul.Tensor*9 permute.default*6 sigmoid.default*9 slice.Tensor*5 "
        "split_with_sizes.default*3 squeeze.dims*7 tanh.default*6 unsqueeze.default*2 "
        "view.default*11"
    ),
    "GRU": (
        "add.Tensor*32 addmm.default*12 cat.default*7 flip.default*2 full.default "
        "mul.Tensor*16 permute.default*12 sigmoid.default*16 slice.Tensor*12 "
        "split_with_sizes.default*16 squeeze.dims*16 sub.Tensor*8 tanh.default*8 "
        "unsqueeze.default*4 view.default*25"
    ),
    "RNN": (
        "add.Tensor*4 addmm.default*6 cat.default*3 full.default permute.default*6 "
        "relu.default*4 slice.Tensor*6 squeeze.dims*8 unsqueeze.default*2 view.default*13"
    ),
    "instance norm, kept": (
        "_native_batch_norm_legit_functional.default alias.default*4 copy.default*2 "
        "mean.dim*2 repeat.default*4 view.default*4"
    ),
    "instance norm, used": (
        "_native_batch_norm_legit_no_training.default repeat.default*2 view.default*2"
    ),
    "multi-head attention": (
        "_softmax.default addmm.default*4 bmm.default*2 mean.dim mul.Tensor "
        "native_dropout.default permute.default*9 split_with_sizes.default*2 view.default*12"
    ),
    "weight norm": "addmm.default div.Tensor linalg_vector_norm.default mul.Tensor permute.default",
    "spectral norm": ("addmm.default div.Tensor mul.Tensor*2 permute.default sum.dim_IntList*2"),
    "transformer": (
        "_softmax.default add.Tensor*3 addmm.default*3 any.dim bmm.default*3 eq.Scalar "
        "expand.default*6 full_like.default logical_not.default*2 mul.Scalar*2 "
        "native_dropout.default*4 native_layer_norm.default*2 permute.default*12 relu.default "
        "select.int*3 squeeze.dims unsqueeze.default view.default*22 where.self"
    ),
    "resize, nearest row": (
        "_to_copy.default add.Tensor arange.start_step index.Tensor mul.Tensor"
    ),
    "resize, nearest volume": (
        "_to_copy.default*3 add.Tensor*3 arange.start_step*3 index.Tensor mul.Tensor*3 "
        "unsqueeze.default*3"
    ),
    "resize, exact row": ("_to_copy.default add.Tensor arange.start_step index.Tensor mul.Tensor"),
    "resize, exact plane": (
        "_to_copy.default*2 add.Tensor*2 arange.start_step*2 index.Tensor mul.Tensor*2 "
        "unsqueeze.default"
    ),
    "resize, exact volume": (
        "_to_copy.default*3 add.Tensor*3 arange.start_step*3 index.Tensor mul.Tensor*3 "
        "unsqueeze.default*3"
    ),
    "resize, linear": (
        "_to_copy.default*2 add.Tensor*3 arange.start_step clamp.default*3 index.Tensor*2 "
        "mul.Tensor*2 sub.Tensor*3 view.default"
    ),
    "resize, linear, aligned": (
        "_to_copy.default*2 add.Tensor*2 arange.start_step clamp.default*3 index.Tensor*2 "
        "mul.Tensor*2 sub.Tensor*2 view.default"
    ),
    "resize, linear, to one": (
        "_to_copy.default*2 add.Tensor*2 arange.start_step clamp.default*3 index.Tensor*2 "
        "mul.Tensor*2 sub.Tensor*2 view.default"
    ),
    "resize, trilinear": (
        "_to_copy.default*6 add.Tensor*13 arange.start_step*3 clamp.default*9 index.Tensor*8 "
        "mul.Tensor*10 sub.Tensor*13 view.default*3"
    ),
    "resize, bicubic": (
        "_to_copy.default*4 add.Tensor*27 arange.start_step*2 cat.default*4 clamp.default*34 "
        "floor.default*2 index.Tensor*16 mul.Tensor*34 slice.Tensor*8 squeeze.dims*8 "
        "sub.Tensor*16 unsqueeze.default view.default*4"
    ),
    "resize, bicubic, aligned": (
        "_to_copy.default*4 add.Tensor*25 arange.start_step*2 cat.default*4 clamp.default*34 "
        "floor.default*2 index.Tensor*16 mul.Tensor*34 slice.Tensor*8 squeeze.dims*8 "
        "sub.Tensor*14 unsqueeze.default view.default*4"
    ),
    "resize, area": ("_adaptive_avg_pool2d.default"),
    "resize, smoothed": ("_adaptive_avg_pool3d.default"),
    "windows": (
        "add.Tensor*2 arange.start_step*4 constant_pad_nd.default index.Tensor "
        "permute.default unsqueeze.default*6 view.default"
    ),
    "windows, apart": (
        "add.Tensor*2 arange.start_step*4 constant_pad_nd.default index.Tensor "
        "permute.default unsqueeze.default*6 view.default"
    ),
    "windows, without a batch": (
        "add.Tensor*2 arange.start_step*4 constant_pad_nd.default index.Tensor "
        "permute.default squeeze.dims unsqueeze.default*7 view.default"
    ),
    "windows summed": (
        "add.Tensor*2 arange.start_step*4 constant_pad_nd.default full.default "
        "index_put.default permute.default unsqueeze.default*6 view.default"
    ),
    "windows summed, without a batch": (
        "add.Tensor*2 arange.start_step*4 constant_pad_nd.default full.default "
        "index_put.default permute.default squeeze.dims unsqueeze.default*7 view.default"
    ),
    "affine grid": (
        "_to_copy.default*4 add.Tensor*4 arange.start_step*2 constant_pad_nd.default*3 "
        "full.default lt.Scalar*2 mul.Tensor*5 permute.default sub.Tensor*4 sum.dim_IntList "
        "unsqueeze.default view.default*4 where.self*2"
    ),
    "affine grid of volumes": (
        "_to_copy.default*6 add.Tensor*6 arange.start_step*3 constant_pad_nd.default*4 "
        "full.default lt.Scalar*3 mul.Tensor*7 permute.default sub.Tensor*6 sum.dim_IntList "
        "unsqueeze.default view.default*5 where.self*3"
    ),
    "bilinear": ("_trilinear.default add.Tensor view.default*3"),
    "bilinear, of rows": ("_trilinear.default view.default*3"),
    "rrelu": ("empty.memory_format rrelu_with_noise_functional.default sub.Tensor"),
    "rrelu, in training": ("empty.memory_format rrelu_with_noise_functional.default sub.Tensor"),
    "multi-label margin": (
        "add.Tensor amin.default any.dim arange.start_step clamp.default div.Tensor eq.Scalar "
        "eq.Tensor gather.default lt.Tensor mean.default permute.default "
        "scalar_tensor.default*4 sub.Tensor sum.dim_IntList unsqueeze.default*2 where.self*4"
    ),
    "multi-label margin, of a row": (
        "add.Tensor amin.default any.dim arange.start_step clamp.default div.Tensor eq.Scalar "
        "eq.Tensor gather.default lt.Tensor permute.default scalar_tensor.default*4 "
        "sub.Tensor sum.dim_IntList unsqueeze.default*4 where.self*4"
    ),
    "multi margin, each": (
        "add.Tensor arange.start_step clamp.default gather.default mean.dim ne.Tensor "
        "scalar_tensor.default sub.Tensor unsqueeze.default where.self"
    ),
    "multi margin, weighted": (
        "add.Tensor arange.start_step clamp.default gather.default index.Tensor mean.default "
        "mul.Tensor*2 ne.Tensor scalar_tensor.default sub.Tensor unsqueeze.default where.self"
    ),
    "response": (
        "add.Tensor avg_pool2d.default constant_pad_nd.default div.Tensor mul.Tensor*2 "
        "pow.Tensor_Scalar squeeze.dims unsqueeze.default"
    ),
    "response of planes": (
        "add.Tensor avg_pool3d.default constant_pad_nd.default div.Tensor mul.Tensor*2 "
        "pow.Tensor_Scalar squeeze.dims view.default*2"
    ),
    "distances": ("_pdist_forward.default"),
    "distances, of order 1": ("_pdist_forward.default"),
    "distances of sets": ("_cdist_forward.default"),
    "distances of many": (
        "cat.default*2 clamp.default full_like.default*2 mm.default mul.Tensor "
        "permute.default pow.Tensor_Scalar*2 sqrt.default sum.dim_IntList*2 view.default"
    ),
    "mirrored and cut": ("abs.default*2 arange.start_step index.Tensor sub.Tensor*2"),
    "repeated and cut": ("arange.start_step*2 clamp.default*2 index.Tensor*2"),
    "distances by a product": (
        "cat.default*2 clamp.default full_like.default*2 mm.default mul.Tensor neg.default "
        "permute.default pow.Tensor_Scalar*2 sqrt.default sum.dim_IntList*2 view.default"
    ),
}
