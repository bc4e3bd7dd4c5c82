"""A character-level LSTM that learns a few lines of text and then writes on."""

import torch
import torch.nn as nn

TEXT = (
    "the lamp on the hill burns low and slow, the tide comes in, the small boats go; "
    "the wind sings over the reeds below, and the lamp on the hill burns low and slow. "
) * 4


class CharRNN(nn.Module):
    def __init__(self, vocab, embed=16, hidden=48, layers=2):
        super().__init__()
        self.embedding = nn.Embedding(vocab, embed)
        self.rnn = nn.LSTM(embed, hidden, num_layers=layers, batch_first=True)
        self.head = nn.Linear(hidden, vocab)

    def forward(self, x, state=None):
        y, state = self.rnn(self.embedding(x), state)
        return self.head(y), state


def detach(state):
    return tuple(s.detach() for s in state)


def sample(model, stoi, itos, start="the ", length=40):
    model.eval()
    x = torch.tensor([[stoi[c] for c in start]])
    out, state = list(start), None
    with torch.inference_mode():
        for _ in range(length):
            logits, state = model(x, state)
            probabilities = torch.softmax(logits[0, -1] / 0.7, dim=-1)
            x = torch.multinomial(probabilities, 1).view(1, 1)
            out.append(itos[x.item()])
    return "".join(out)


def main():
    torch.manual_seed(1234)
    chars = sorted(set(TEXT))
    stoi = {c: i for i, c in enumerate(chars)}
    itos = dict(enumerate(chars))
    data = torch.tensor([stoi[c] for c in TEXT], dtype=torch.long)
    batch, seq = 4, 20
    data = data[: len(data) // batch * batch].view(batch, -1)
    model = CharRNN(len(chars))
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    step = 0
    for epoch in range(6):
        state = None
        for i in range(0, data.size(1) - seq - 1, seq):
            x, y = data[:, i : i + seq], data[:, i + 1 : i + seq + 1]
            logits, state = model(x, state)
            state = detach(state)
            loss = criterion(logits.reshape(-1, len(chars)), y.reshape(-1))
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
            optimizer.step()
            if step < 40:
                print("loss {} {:.8f}".format(step, loss.item()))
            step += 1
    print("text", sample(model, stoi, itos))
    print(f"quality loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
