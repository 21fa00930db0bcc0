#pragma once
/* Runs a model as a text file says; how the carrying tests come to run from C. */

int run_script(const char* artifact, const char* script);
