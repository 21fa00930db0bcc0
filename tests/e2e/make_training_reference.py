"""Reference values of carrying test a: 50 steps of SGD on a 2-layer MLP with cross entropy.

Usage: make_training_reference.py OUT.npz [--torch]

The model in PyTorch's words: Linear(12, 24), ReLU, Linear(24, 5), CrossEntropyLoss, SGD(lr=0.1). With --torch PyTorch
computes it; without, the same formulas in numpy, every array in f32. The stored file is numpy's: the two differ by
rounding alone, far below the test's 1e-5.
"""

import argparse

import numpy as np

STEPS, BATCH, IN, HIDDEN, CLASSES, RATE = 50, 16, 12, 24, 5, np.float32(0.1)
NAMES = ("fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias")


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


def forward(p, x):
    h = x @ p["fc1.weight"].T + p["fc1.bias"]
    a = np.maximum(h, np.float32(0))
    return h, a, a @ p["fc2.weight"].T + p["fc2.bias"]


def train_numpy(start, x, labels):
    p, losses, n = dict(start), [], np.float32(BATCH)
    for step in range(STEPS):
        h, a, z = forward(p, x[step])
        shifted = z - z.max(axis=1, keepdims=True)
        log_prob = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
        rows = np.arange(BATCH)
        losses.append(-log_prob[rows, labels[step]].mean())
        dz = np.exp(log_prob)
        dz[rows, labels[step]] -= np.float32(1)
        dz /= n
        dh = (dz @ p["fc2.weight"]) * (h > 0)
        grads = {"fc2.weight": dz.T @ a, "fc2.bias": dz.sum(axis=0), "fc1.weight": dh.T @ x[step], "fc1.bias": dh.sum(axis=0)}
        p = {k: (p[k] - RATE * grads[k]).astype(np.float32) for k in NAMES}
    return p, np.array(losses, np.float32), forward(p, x[0])[2]


def train_torch(start, x, labels):
    import torch

    model = torch.nn.Sequential(torch.nn.Linear(IN, HIDDEN), torch.nn.ReLU(), torch.nn.Linear(HIDDEN, CLASSES))
    places = {"fc1.weight": model[0].weight, "fc1.bias": model[0].bias, "fc2.weight": model[2].weight, "fc2.bias": model[2].bias}
    with torch.no_grad():
        for name, value in start.items():
            places[name].copy_(torch.from_numpy(value))
    optimizer, losses = torch.optim.SGD(model.parameters(), lr=float(RATE)), []
    for step in range(STEPS):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(torch.from_numpy(x[step])), torch.from_numpy(labels[step]))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    with torch.no_grad():
        logits = model(torch.from_numpy(x[0])).numpy()
    return {k: v.detach().numpy() for k, v in places.items()}, np.array(losses, np.float32), logits


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    parser.add_argument("--torch", action="store_true")
    args = parser.parse_args()
    start, x, labels = inputs()
    end, losses, logits = (train_torch if args.torch else train_numpy)(start, x, labels)
    arrays = {"x": x, "labels": labels, "losses": losses, "logits": logits.astype(np.float32)}
    for name in NAMES:
        arrays["start." + name] = start[name]
        arrays["end." + name] = end[name]
    np.savez_compressed(args.out, **arrays)
    print(f"loss {losses[0]:.4f} -> {losses[-1]:.4f}")


if __name__ == "__main__":
    main()
