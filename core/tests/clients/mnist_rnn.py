"""Images read row by row by an LSTM; a training function, a testing function, a saved state."""

import os
import tempfile

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.optim.lr_scheduler import StepLR


class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.rnn = nn.LSTM(input_size=14, hidden_size=24, batch_first=True)
        self.batchnorm = nn.BatchNorm1d(24)
        self.dropout1 = nn.Dropout1d(0.1)
        self.dropout2 = nn.Dropout(0.2)
        self.fc1 = nn.Linear(24, 16)
        self.fc2 = nn.Linear(16, 4)

    def forward(self, input):
        input = input.reshape(-1, 14, 14)
        output, hidden = self.rnn(input)
        output = output[:, -1, :]
        output = self.dropout1(self.batchnorm(output))
        output = self.dropout2(F.relu(self.fc1(output)))
        return F.log_softmax(self.fc2(output), dim=1)


class Bars(torch.utils.data.Dataset):
    def __init__(self, n, transform=None):
        self.transform = transform
        self.targets = torch.arange(n) % 4
        self.data = torch.randn(n, 1, 14, 14) * 0.4
        for i, t in enumerate(self.targets):
            if t < 2:
                self.data[i, 0, 3 + 7 * t] += 2
            else:
                self.data[i, 0, :, 3 + 7 * (t - 2)] += 2

    def __len__(self):
        return len(self.targets)

    def __getitem__(self, i):
        image = self.data[i]
        return (self.transform(image) if self.transform else image), int(self.targets[i])


def train(model, loader, optimizer, epoch, losses):
    model.train()
    for batch_idx, (data, target) in enumerate(loader):
        optimizer.zero_grad()
        loss = F.nll_loss(model(data), target)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())


def test(model, loader):
    model.eval()
    test_loss, correct = 0, 0
    with torch.no_grad():
        for data, target in loader:
            output = model(data)
            test_loss += F.nll_loss(output, target, reduction="sum").item()
            pred = output.argmax(dim=1, keepdim=True)
            correct += pred.eq(target.view_as(pred)).sum().item()
    return test_loss / len(loader.dataset), correct / len(loader.dataset)


def main():
    torch.manual_seed(1)
    standard = lambda image: (image - 0.1307) / 0.3081
    kwargs = {"num_workers": 0, "pin_memory": False}
    train_loader = torch.utils.data.DataLoader(
        Bars(128, standard), batch_size=16, shuffle=True, **kwargs
    )
    test_loader = torch.utils.data.DataLoader(Bars(40, standard), batch_size=40, **kwargs)
    model = Net().to(torch.device("cpu"))
    optimizer = optim.Adadelta(model.parameters(), lr=1.0)
    scheduler = StepLR(optimizer, step_size=1, gamma=0.7)
    losses = []
    for epoch in range(1, 5):
        train(model, train_loader, optimizer, epoch, losses)
        loss, accuracy = test(model, test_loader)
        scheduler.step()
    path = os.path.join(tempfile.mkdtemp(), "mnist_rnn.pt")
    torch.save(model.state_dict(), path)
    again = Net()
    print("missing =", len(again.load_state_dict(torch.load(path)).missing_keys))
    print("first = {:.6g}".format(losses[0]))
    print("last = {:.6g}".format(losses[-1]))
    print("test = {:.6g}".format(test(again, test_loader)[0]))
    print("accuracy = {:.4g}".format(accuracy))


if __name__ == "__main__":
    main()
