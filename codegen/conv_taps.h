#pragma once
// Which taps of a convolution's window lie inside the input. Internal to the CPU's convolution skeletons: they make no copy of the input
// with a border, they leave out the taps that would fall on it.

#include <functional>
#include <utility>
#include <vector>

#include "codegen/conv_facts.h"

namespace nnc {

// One spatial axis, in the kernel's dims. Output o sees at tap t the input at o * stride + t * dilation - pad.
struct TapAxis {
  Dim outputs, inputs, taps, pad;
  int64_t stride = 1, dilation = 1;
  bool low = false, high = false;  // taps may lie before the input's begin, after its end
};
TapAxis tap_axis(GroupBody& body, const ConvFacts& f, size_t d);

// The input's coordinate at a tap.
Coord tap_position(GroupBody& body, const TapAxis& a, const Coord& output, const Coord& tap);
// The taps [first, second) that lie inside at output position `at`.
std::pair<Expr, Expr> inside_taps(KernelBuilder& k, const TapAxis& a, Expr at);
// Whether the input has this position.
Expr inside_input(KernelBuilder& k, const TapAxis& a, Expr position);

// Neighbouring outputs along an axis that share registers.
struct LineTile {
  enum Edge : uint8_t {
    kInside,   // every tap of every row lies inside
    kKnown,    // the place is a constant, so what lies inside is known: known_taps
    kUnknown,  // found out while running
  };
  Expr first;
  int rows = 1;
  Edge edge = kInside;
};
// Consecutive taps that lie inside for the same rows of a tile.
struct TapRun {
  int64_t tap = 0, tap_end = 0;
  int row = 0, row_end = 0;
};
std::vector<TapRun> known_taps(const TapAxis& a, int64_t first, int rows);

// Cuts the axis into tiles of at most `rows`: of nearly equal size where its extent is known; else of that size, the last one moved back
// over what has been computed already (equal values are stored twice).
void cut_line(KernelBuilder& k, const TapAxis& a, int rows, const std::function<void(const LineTile&)>& tile);

}  // namespace nnc
