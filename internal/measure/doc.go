// Package measure is what benchmarks share: work measured in turns with its rivals, medians with
// their spread, and processor time.
//
// A machine is not the same from one minute to the next: clocks, caches and neighbours change. So
// what is compared runs in turns ([Alternate]), and a ratio is taken within each round ([Ratio])
// before the median of the ratios is.
package measure
