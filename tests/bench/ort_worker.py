"""ONNX Runtime behind the protocol of worker.cpp: all graph optimisations, bound inputs and outputs."""
import json
import sys
import time

import numpy as np
import onnxruntime as ort


def main():
    model, inputs, threads = sys.argv[1], sys.argv[2], int(sys.argv[3])
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    begin = time.perf_counter()
    session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    created = time.perf_counter() - begin
    feeds = dict(np.load(inputs))
    binding = session.io_binding()
    for i in session.get_inputs():
        binding.bind_cpu_input(i.name, np.ascontiguousarray(feeds[i.name]))
    names = [o.name for o in session.get_outputs()]
    results = session.run(names, {i.name: feeds[i.name] for i in session.get_inputs()})
    values = [ort.OrtValue.ortvalue_from_numpy(r) for r in results]
    for name, value in zip(names, values):
        binding.bind_ortvalue_output(name, value)
    print(json.dumps({"created": created, "version": ort.__version__}), flush=True)
    run = session.run_with_iobinding
    for line in sys.stdin:
        word, *rest = line.split()
        if word == "run":
            seconds = float(rest[0])
            times = []
            start = time.perf_counter()
            while True:
                a = time.perf_counter()
                run(binding)
                b = time.perf_counter()
                times.append(b - a)
                if b - start >= seconds:
                    break
            times.sort()
            n = len(times)
            print(json.dumps({"n": n, "p10": times[n // 10], "p50": times[n // 2], "p90": times[n * 9 // 10]}), flush=True)
        elif word == "outputs":
            np.savez(rest[0], **{name: v.numpy() for name, v in zip(names, values)})
            print("{}", flush=True)
        else:
            break


if __name__ == "__main__":
    main()
