#pragma once
// The epilogue of a hero: from the hero's result coordinates forward to the group's outputs, through elementwise nodes and bijective views.

#include <map>

#include "codegen/group_body.h"

namespace nnc {

class Epilogue {
 public:
  Epilogue(GroupBody& body, ValueId hero) : body_(body), hero_(hero) {}
  // Coordinates of every value that follows from the hero's at `coords`.
  void place(const Coords& coords);
  // Stores every group output for the hero element(s) at hand; the hero's value must be bound.
  void store(Expr mask = {}, bool nt = false);

 private:
  GroupBody& body_;
  ValueId hero_;
  std::map<ValueId, Coords> at_;
};

// True if every output of the group follows from `hero` through elementwise nodes of the same extents, reshapes and transposes, and nothing
// else reads the hero's result or what follows from it.
bool epilogue_possible(const Graph& g, ValueId hero);

}  // namespace nnc
