"""pykeen: embeddings of a graph of knowledge by several models, trained and ranked."""

import numpy
from common import report
from pykeen.pipeline import pipeline
from pykeen.triples import TriplesFactory


def main():
    made = numpy.random.default_rng(0)
    heads, tails = made.integers(0, 12, 60), made.integers(0, 12, 60)
    rows = numpy.array(
        [[f"e{h}", f"r{(h + t) % 3}", f"e{t}"] for h, t in zip(heads, tails, strict=True)]
    )
    training, testing = TriplesFactory.from_labeled_triples(rows).split([0.8, 0.2], random_state=0)
    found = {}
    for model in ("TransE", "ComplEx", "RotatE", "DistMult"):
        options = {"embedding_dim": 16}
        result = pipeline(
            training=training,
            testing=testing,
            model=model,
            model_kwargs=options,
            training_kwargs={"num_epochs": 3, "use_tqdm": False, "batch_size": 16},
            evaluation_kwargs={"use_tqdm": False},
            random_seed=1,
            device="cpu",
            training_loop="sLCWA",
        )
        found[model] = [result.losses, result.get_metric("mrr")]
    report(**found)


main()
