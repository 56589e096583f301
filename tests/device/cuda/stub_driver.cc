// SPDX-License-Identifier: Apache-2.0
// A libcuda.so.1 as toolkits have it for linking: every function only says
// that it is a stub.
extern "C" {
int cuDriverGetVersion(int* /*version*/) { return 34; }
int cuGetProcAddress_v2(const char* /*name*/, void** /*function*/,
                        int /*version*/, unsigned long long /*flags*/,
                        int* /*found*/) {
  return 34;
}
}
