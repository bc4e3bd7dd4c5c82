"""A VQ-VAE: straight-through estimator, a codebook kept by moving averages, perplexity."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class VectorQuantizerEMA(nn.Module):
    def __init__(self, num_embeddings, embedding_dim, commitment_cost, decay, epsilon=1e-5):
        super(VectorQuantizerEMA, self).__init__()
        self._embedding_dim, self._num_embeddings = embedding_dim, num_embeddings
        self._embedding = nn.Embedding(self._num_embeddings, self._embedding_dim)
        self._embedding.weight.data.normal_()
        self._commitment_cost, self._decay, self._epsilon = commitment_cost, decay, epsilon
        self.register_buffer("_ema_cluster_size", torch.zeros(num_embeddings))
        self._ema_w = nn.Parameter(torch.Tensor(num_embeddings, self._embedding_dim))
        self._ema_w.data.normal_()

    def forward(self, inputs):
        inputs = inputs.permute(0, 2, 3, 1).contiguous()
        input_shape = inputs.shape
        flat_input = inputs.view(-1, self._embedding_dim)
        distances = (
            torch.sum(flat_input**2, dim=1, keepdim=True)
            + torch.sum(self._embedding.weight**2, dim=1)
            - 2 * torch.matmul(flat_input, self._embedding.weight.t())
        )
        encoding_indices = torch.argmin(distances, dim=1).unsqueeze(1)
        encodings = torch.zeros(
            encoding_indices.shape[0], self._num_embeddings, device=inputs.device
        )
        encodings.scatter_(1, encoding_indices, 1)
        quantized = torch.matmul(encodings, self._embedding.weight).view(input_shape)
        if self.training:
            self._ema_cluster_size = self._ema_cluster_size * self._decay + (
                1 - self._decay
            ) * torch.sum(encodings, 0)
            n = torch.sum(self._ema_cluster_size.data)
            self._ema_cluster_size = (
                (self._ema_cluster_size + self._epsilon)
                / (n + self._num_embeddings * self._epsilon)
                * n
            )
            dw = torch.matmul(encodings.t(), flat_input)
            self._ema_w = nn.Parameter(self._ema_w * self._decay + (1 - self._decay) * dw)
            self._embedding.weight = nn.Parameter(self._ema_w / self._ema_cluster_size.unsqueeze(1))
        e_latent_loss = F.mse_loss(quantized.detach(), inputs)
        loss = self._commitment_cost * e_latent_loss
        quantized = inputs + (quantized - inputs).detach()
        avg_probs = torch.mean(encodings, dim=0)
        perplexity = torch.exp(-torch.sum(avg_probs * torch.log(avg_probs + 1e-10)))
        return loss, quantized.permute(0, 3, 1, 2).contiguous(), perplexity, encodings


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv2d(1, 8, 4, 2, 1), nn.ReLU(), nn.Conv2d(8, 4, 4, 2, 1))
        self.vq = VectorQuantizerEMA(8, 4, 0.25, 0.9)
        self.decoder = nn.Sequential(
            nn.ConvTranspose2d(4, 8, 4, 2, 1), nn.ReLU(), nn.ConvTranspose2d(8, 1, 4, 2, 1)
        )

    def forward(self, x):
        loss, quantized, perplexity, _ = self.vq(self.encoder(x))
        return loss, self.decoder(quantized), perplexity


torch.manual_seed(8)
yy, xx = torch.meshgrid(torch.arange(16.0), torch.arange(16.0), indexing="ij")
centre = torch.rand(32, 2, 1, 1) * 8 + 4
data = torch.exp(-((yy - centre[:, :1]) ** 2 + (xx - centre[:, 1:]) ** 2) / 12)
data_variance = torch.var(data)
model = Model()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3, amsgrad=False)
model.train()
errors = []
for i in range(60):
    x = data[(torch.arange(8) + 8 * i) % 32]
    optimizer.zero_grad()
    vq_loss, data_recon, perplexity = model(x)
    recon_error = F.mse_loss(data_recon, x) / data_variance
    (recon_error + vq_loss).backward()
    optimizer.step()
    errors.append(recon_error.item())
print("first = %.6g" % errors[0])
print("fifth = %.6g" % errors[4])
print("last = %.6g" % (sum(errors[-8:]) / 8))
print("perplexity_above_one = %d" % (perplexity.item() > 1.0))
