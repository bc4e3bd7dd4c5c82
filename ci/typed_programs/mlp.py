"""Training a small network."""
# ruff: noqa: F821, D101, D103 - reveal_type is mypy's

import rushlight as torch
import rushlight.nn.functional as F
from rushlight import nn
from rushlight.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    """Two layers."""

    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.first = nn.Linear(4, width)
        self.second = nn.Linear(width, 3)
        self.dropout = nn.Dropout(p=0.1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = F.relu(self.first(x))
        return self.second(self.dropout(x))


def accuracy(model: nn.Module, loader: DataLoader[tuple[torch.Tensor, ...]]) -> float:
    model.eval()
    right = 0
    with torch.no_grad():
        for x, y in loader:
            right += int((model(x).argmax(dim=1) == y).sum().item())
    return right / len(loader.dataset)  # type: ignore[arg-type]


def main() -> None:
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    data = TensorDataset(torch.randn(64, 4), torch.randint(0, 3, (64,)))
    loader = DataLoader(data, batch_size=8, shuffle=True)
    model = Net().to(device)
    reveal_type(model)  # note: "Net"
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01)
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
    for epoch in range(2):
        model.train()
        total = 0.0
        for x, y in loader:
            x, y = x.to(device), y.to(device)
            optimizer.zero_grad(set_to_none=True)
            loss = criterion(model(x), y)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            total += loss.item() * x.size(0)
        for group in optimizer.param_groups:
            group["lr"] *= 0.5
        print(epoch, total / len(data), accuracy(model, loader))
    reveal_type(len(loader))  # note: "int"
    reveal_type(model.first.weight)  # note: "Parameter"
    reveal_type(model.first.in_features)  # note: "int"
    reveal_type(optimizer.param_groups)  # note: "list[dict[str, Any]]"
    reveal_type(device)  # note: "device"
    reveal_type(device.type)  # note: "str"
    reveal_type(sum(p.numel() for p in model.parameters() if p.requires_grad))  # note: "int"
    reveal_type(nn.utils.clip_grad_norm_(model.parameters(), 1.0))  # note: "Tensor"
    reveal_type(torch.randn(2).shape[0])  # note: "int"
    reveal_type(torch.randn(2).size())  # note: "Size"
    reveal_type(torch.cuda.is_available())  # note: "bool"


if __name__ == "__main__":
    main()
