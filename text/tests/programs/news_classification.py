"""The last tutorial of torchtext: news in four classes, a bag of embeddings."""

import sys

import torch
import torchtext
from torch import nn
from torch.utils.data import DataLoader
from torch.utils.data.dataset import random_split
from torchtext.data.functional import to_map_style_dataset
from torchtext.data.utils import get_tokenizer
from torchtext.datasets import AG_NEWS
from torchtext.vocab import build_vocab_from_iterator

torchtext.disable_torchtext_deprecation_warning()
torch.manual_seed(0)
tokenizer = get_tokenizer("basic_english")
train_iter = AG_NEWS(root=sys.argv[1], split="train")


def yield_tokens(data_iter):
    for _, text in data_iter:
        yield tokenizer(text)


vocab = build_vocab_from_iterator(yield_tokens(train_iter), specials=["<unk>"])
vocab.set_default_index(vocab["<unk>"])
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def collate_batch(batch):
    label_list, text_list, offsets = [], [], [0]
    for label, text in batch:
        label_list.append(int(label) - 1)
        processed = torch.tensor(vocab(tokenizer(text)), dtype=torch.int64)
        text_list.append(processed)
        offsets.append(processed.size(0))
    labels = torch.tensor(label_list, dtype=torch.int64)
    offsets = torch.tensor(offsets[:-1]).cumsum(dim=0)
    return labels.to(device), torch.cat(text_list).to(device), offsets.to(device)


class TextClassificationModel(nn.Module):
    def __init__(self, vocab_size, embed_dim, num_class):
        super().__init__()
        self.embedding = nn.EmbeddingBag(vocab_size, embed_dim, sparse=False)
        self.fc = nn.Linear(embed_dim, num_class)

    def forward(self, text, offsets):
        return self.fc(self.embedding(text, offsets))


dataset = to_map_style_dataset(train_iter)
count = int(len(dataset) * 0.9)
train, valid = random_split(dataset, [count, len(dataset) - count])
loader = DataLoader(train, batch_size=8, shuffle=True, collate_fn=collate_batch)
model = TextClassificationModel(len(vocab), 16, 4).to(device)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=2.0)
for _ in range(8):
    for label, text, offsets in loader:
        optimizer.zero_grad()
        loss = criterion(model(text, offsets), label)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
test = to_map_style_dataset(AG_NEWS(root=sys.argv[1], split="test"))
right = total = 0
with torch.no_grad():
    for label, text, offsets in DataLoader(test, batch_size=8, collate_fn=collate_batch):
        right += (model(text, offsets).argmax(1) == label).sum().item()
        total += label.size(0)
print(f"{right} of {total} right")
