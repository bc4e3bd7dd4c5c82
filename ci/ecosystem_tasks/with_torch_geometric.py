"""torch-geometric: layers, batches, pooling, message passing of one's own, loaders."""

import torch
import torch.nn.functional as F
from common import report, train
from torch_geometric.data import Batch, Data
from torch_geometric.loader import DataLoader
from torch_geometric.nn import (
    GATConv,
    GCNConv,
    GINConv,
    MessagePassing,
    SAGEConv,
    TransformerConv,
    global_add_pool,
    global_max_pool,
    global_mean_pool,
)
from torch_geometric.transforms import AddSelfLoops, NormalizeFeatures, ToUndirected
from torch_geometric.utils import add_self_loops, degree, scatter, softmax, to_dense_adj


class Own(MessagePassing):
    """The mean of neighbours."""

    def __init__(self):
        super().__init__(aggr="mean")

    def forward(self, x, edge_index):
        return self.propagate(edge_index, x=x)

    def message(self, x_j):
        return 2 * x_j


def main():
    torch.manual_seed(0)
    edges = torch.tensor([[0, 1, 1, 2, 3, 4, 4, 5], [1, 0, 2, 1, 4, 3, 5, 4]])
    x, labels = torch.randn(6, 4), torch.tensor([0, 1, 0, 1, 0, 1])
    found = {}
    mlp = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU(), torch.nn.Linear(3, 3))
    for layer in (GCNConv(4, 3), GATConv(4, 3, heads=2), SAGEConv(4, 3), GINConv(mlp),
                  TransformerConv(4, 3)):  # fmt: skip
        found[type(layer).__name__] = layer(x, edges)
    found["own"] = Own()(x, edges)

    class Net(torch.nn.Module):
        """Two layers."""

        def __init__(self):
            super().__init__()
            self.one, self.two = GCNConv(4, 8), GCNConv(8, 2)

        def forward(self, x, edge_index):
            return self.two(
                F.dropout(self.one(x, edge_index).relu(), 0.2, self.training), edge_index
            )

    torch.manual_seed(1)
    net = Net()
    found["losses"] = train(net, x, lambda m, v: F.cross_entropy(m(v, edges), labels), rate=1e-2)
    data = Data(x=x, edge_index=edges[:, :4], y=labels)
    both = Batch.from_data_list([data, data])
    found["batch"] = [both.num_graphs, both.edge_index.tolist(), both.batch.tolist()]
    for pool in (global_add_pool, global_mean_pool, global_max_pool):
        found[pool.__name__] = pool(both.x, both.batch)
    found["loader"] = [b.x for b in DataLoader([data] * 5, batch_size=2)]
    changed = NormalizeFeatures()(ToUndirected()(AddSelfLoops()(data.clone())))
    found["changed"] = [changed.x, changed.edge_index]
    found["degree"] = degree(edges[0], 6)
    found["softmax"] = softmax(torch.randn(8), edges[1], num_nodes=6)
    found["scatter"] = scatter(torch.randn(8, 2), edges[1], 0, 6, "max")
    found["loops"] = add_self_loops(edges)[0]
    found["dense"] = to_dense_adj(edges)
    report(**found)


main()
