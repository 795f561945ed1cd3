package http

import (
	"fmt"
	"testing"
)

// TestVersionsAreBounded checks that servers beyond the limit are not remembered, and fail as they would
// without the memory.
func TestVersionsAreBounded(t *testing.T) {
	t.Parallel()
	var v versions
	for i := range 2 * maxVersions {
		if new := v.prefer(fmt.Sprint(i), HTTP2); new != (i < maxVersions) {
			t.Fatalf("server %d: %v", i, new)
		}
	}
	if n := len(v.by); n != maxVersions {
		t.Errorf("%d servers are remembered", n)
	}
}
