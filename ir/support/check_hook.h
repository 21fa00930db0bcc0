#pragma once
// What the program does with a failed NNC_CHECK before it stops: for a program that can write down what it was doing. Libraries set none.

namespace nnc {

// Called once, with the text that was printed, on the thread that failed; whatever it does, the program aborts afterwards.
using CheckHook = void (*)(const char* text);
void set_check_hook(CheckHook hook);

}  // namespace nnc
