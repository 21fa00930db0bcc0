"""Reference values of carrying test a: 50 steps of SGD on a 2-layer MLP with cross entropy, computed by PyTorch.

Usage: make_training_reference.py OUT.npz

Needs PyTorch on the CPU, any version (the stored file: 1.13, which Debian 12 has as python3-torch); the test itself does not.
"""

import sys

import numpy as np
import torch

STEPS, BATCH, IN, HIDDEN, CLASSES, RATE = 50, 16, 12, 24, 5, 0.1


def inputs():
    rng = np.random.default_rng(20)
    shapes = {"fc1.weight": (HIDDEN, IN), "fc1.bias": (HIDDEN,), "fc2.weight": (CLASSES, HIDDEN), "fc2.bias": (CLASSES,)}
    start = {}
    for name, shape in shapes.items():
        bound = 1 / np.sqrt(IN if name.startswith("fc1") else HIDDEN)
        start[name] = rng.uniform(-bound, bound, shape).astype(np.float32)
    x = rng.normal(size=(STEPS, BATCH, IN)).astype(np.float32)
    teacher = rng.normal(size=(IN, CLASSES))
    labels = np.argmax(x @ teacher + rng.normal(size=(STEPS, BATCH, CLASSES)) * 0.5, axis=-1).astype(np.int64)
    return start, x, labels


def train(start, x, labels):
    model = torch.nn.Sequential(torch.nn.Linear(IN, HIDDEN), torch.nn.ReLU(), torch.nn.Linear(HIDDEN, CLASSES))
    places = {"fc1.weight": model[0].weight, "fc1.bias": model[0].bias, "fc2.weight": model[2].weight, "fc2.bias": model[2].bias}
    with torch.no_grad():
        for name, value in start.items():
            places[name].copy_(torch.from_numpy(value))
    optimizer, losses = torch.optim.SGD(model.parameters(), lr=RATE), []
    for step in range(STEPS):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(torch.from_numpy(x[step])), torch.from_numpy(labels[step]))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    with torch.no_grad():
        logits = model(torch.from_numpy(x[0])).numpy()
    return {name: value.detach().numpy() for name, value in places.items()}, np.array(losses, np.float32), logits


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    torch.manual_seed(0)
    start, x, labels = inputs()
    end, losses, logits = train(start, x, labels)
    arrays = {"x": x, "labels": labels, "losses": losses, "logits": logits}
    for name in start:
        arrays["start." + name] = start[name]
        arrays["end." + name] = end[name]
    np.savez_compressed(sys.argv[1], **arrays)
    print(f"PyTorch {torch.__version__}: loss {losses[0]:.4f} -> {losses[-1]:.4f}")


if __name__ == "__main__":
    main()
