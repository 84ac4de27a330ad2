// Package plots draws measurements as SVG, by gonum.org/v1/plot.
package plots
