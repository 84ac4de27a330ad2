//go:build race

package endtoend

// raceDetector says that the tests run under the race detector, which slows hashing down
// thirtyfold: the largest of them are smaller there. What it looks for does not hang on size.
const raceDetector = true
