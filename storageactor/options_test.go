package storageactor

import (
	"math"
	"strings"
	"testing"
)

func TestALimitThatWouldOverflowIsNamed(t *testing.T) {
	o := Options{LargeLeaves: math.MaxInt}
	if err := o.Validate(); err == nil || !strings.Contains(err.Error(), "large leaves") {
		t.Fatalf("%v", err)
	}
}
