"""A word language model: an LSTM with tied weights, truncated backpropagation, plain SGD by hand."""

import io
import math

import torch
import torch.nn as nn

TEXT = (
    "the cat sat on the mat . the dog sat on the log . a cat and a dog met on the mat . the log lay on a mat . ".split()
    * 12
)


class Dictionary(object):
    def __init__(self):
        self.word2idx, self.idx2word = {}, []

    def add_word(self, word):
        if word not in self.word2idx:
            self.idx2word.append(word)
            self.word2idx[word] = len(self.idx2word) - 1
        return self.word2idx[word]


class RNNModel(nn.Module):
    def __init__(self, rnn_type, ntoken, ninp, nhid, nlayers, dropout=0.1, tie_weights=False):
        super(RNNModel, self).__init__()
        self.ntoken = ntoken
        self.drop = nn.Dropout(dropout)
        self.encoder = nn.Embedding(ntoken, ninp)
        self.rnn = getattr(nn, rnn_type)(ninp, nhid, nlayers, dropout=dropout if nlayers > 1 else 0)
        self.decoder = nn.Linear(nhid, ntoken)
        if tie_weights:
            self.decoder.weight = self.encoder.weight
        nn.init.uniform_(self.encoder.weight, -0.1, 0.1)
        nn.init.zeros_(self.decoder.bias)
        self.nhid, self.nlayers = nhid, nlayers

    def forward(self, input, hidden):
        emb = self.drop(self.encoder(input))
        output, hidden = self.rnn(emb, hidden)
        decoded = self.decoder(self.drop(output)).view(-1, self.ntoken)
        return nn.functional.log_softmax(decoded, dim=1), hidden

    def init_hidden(self, bsz):
        weight = next(self.parameters())
        return (
            weight.new_zeros(self.nlayers, bsz, self.nhid),
            weight.new_zeros(self.nlayers, bsz, self.nhid),
        )


def batchify(data, bsz):
    nbatch = data.size(0) // bsz
    return data.narrow(0, 0, nbatch * bsz).view(bsz, -1).t().contiguous()


def repackage_hidden(h):
    if isinstance(h, torch.Tensor):
        return h.detach()
    return tuple(repackage_hidden(v) for v in h)


def get_batch(source, i, bptt=10):
    seq_len = min(bptt, len(source) - 1 - i)
    return source[i : i + seq_len], source[i + 1 : i + 1 + seq_len].view(-1)


torch.manual_seed(1111)
corpus = Dictionary()
ids = torch.cat([torch.tensor([corpus.add_word(w)]).type(torch.int64) for w in TEXT])
train, val = batchify(ids[:-60], 6), batchify(ids[-60:], 3)
model = RNNModel("LSTM", len(corpus.idx2word), 24, 24, 1, tie_weights=True)
criterion = nn.NLLLoss()
lr, best_val, losses = 5.0, None, []


def evaluate(source):
    model.eval()
    total, hidden = 0.0, model.init_hidden(3)
    with torch.no_grad():
        for i in range(0, source.size(0) - 1, 10):
            data, targets = get_batch(source, i)
            output, hidden = model(data, hidden)
            hidden = repackage_hidden(hidden)
            total += len(data) * criterion(output, targets).item()
    return total / (len(source) - 1)


for epoch in range(8):
    model.train()
    hidden = model.init_hidden(6)
    for i in range(0, train.size(0) - 1, 10):
        data, targets = get_batch(train, i)
        model.zero_grad()
        hidden = repackage_hidden(hidden)
        output, hidden = model(data, hidden)
        loss = criterion(output, targets)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for p in model.parameters():
            p.data.add_(p.grad, alpha=-lr)
        losses.append(loss.item())
    val_loss = evaluate(val)
    if not best_val or val_loss < best_val:
        saved = io.BytesIO()
        torch.save(model, saved)
        best_val = val_loss
    else:
        lr /= 4.0
saved.seek(0)
model = torch.load(saved, weights_only=False)
model.rnn.flatten_parameters()
print("first = %.6g" % losses[0])
print("last = %.6g" % best_val)
print("perplexity = %.5g" % math.exp(evaluate(val)))
print("words = %d" % len(corpus.idx2word))
print("tied = %d" % (model.decoder.weight is model.encoder.weight))
