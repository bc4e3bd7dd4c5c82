"""Sine waves predicted by LSTM cells in double precision, trained with L-BFGS and a closure."""

import torch
import torch.nn as nn
import torch.optim as optim


class Sequence(nn.Module):
    def __init__(self):
        super(Sequence, self).__init__()
        self.lstm1 = nn.LSTMCell(1, 10)
        self.lstm2 = nn.LSTMCell(10, 10)
        self.linear = nn.Linear(10, 1)

    def forward(self, input, future=0):
        outputs = []
        h_t = torch.zeros(input.size(0), 10, dtype=torch.double)
        c_t = torch.zeros(input.size(0), 10, dtype=torch.double)
        h_t2 = torch.zeros(input.size(0), 10, dtype=torch.double)
        c_t2 = torch.zeros(input.size(0), 10, dtype=torch.double)
        for input_t in input.split(1, dim=1):
            h_t, c_t = self.lstm1(input_t, (h_t, c_t))
            h_t2, c_t2 = self.lstm2(h_t, (h_t2, c_t2))
            output = self.linear(h_t2)
            outputs += [output]
        for i in range(future):
            h_t, c_t = self.lstm1(output, (h_t, c_t))
            h_t2, c_t2 = self.lstm2(h_t, (h_t2, c_t2))
            output = self.linear(h_t2)
            outputs += [output]
        return torch.cat(outputs, dim=1)


torch.manual_seed(0)
phase = torch.randint(-40, 40, (6, 1)).double()
data = torch.sin((torch.arange(30).double() + phase) / 5)
input, target = data[2:, :-1], data[2:, 1:]
seq = Sequence()
seq.double()
criterion = nn.MSELoss()
optimizer = optim.LBFGS(seq.parameters(), lr=0.8, max_iter=8)
calls = []
for i in range(2):

    def closure():
        optimizer.zero_grad()
        loss = criterion(seq(input), target)
        loss.backward()
        calls.append(loss.item())
        return loss

    optimizer.step(closure)
with torch.no_grad():
    pred = seq(data[:2, :-1], future=10)
    test = criterion(pred[:, :-10], data[:2, 1:])
print("first =", "%.8g" % calls[0])
print("last =", "%.8g" % calls[-1])
print("test =", "%.8g" % test.item())
print("evaluations =", len(calls))
print("future =", "%.6g" % pred[0, -1].item())
