package sshconfig

import (
	"slices"
	"strings"
	"testing"
)

func TestAlgorithms(t *testing.T) {
	t.Parallel()
	defaults, implemented := []string{"a1", "a2", "b1"}, []string{"a1", "a2", "b1", "old1", "old2"}
	for list, want := range map[Algorithms]string{
		"":            "a1 a2 b1",
		"b1,a1":       "b1 a1",
		"b1, a1":      "b1 a1",
		"old*":        "old1 old2",
		"a?,a1":       "a1 a2",
		"none,old1":   "old1",
		"none":        "",
		"+old1":       "a1 a2 b1 old1",
		"+a1,none":    "a1 a2 b1",
		"-a*":         "b1",
		"-a1,old1":    "a2 b1",
		"-*":          "",
		"^b1,old2,no": "b1 old2 a1 a2",
		"+":           "a1 a2 b1",
		"-":           "a1 a2 b1",
	} {
		if got := list.Apply(defaults, implemented); !slices.Equal(got, strings.Fields(want)) {
			t.Errorf("%q selects %q, want %s", list, got, want)
		}
	}
	if !slices.Equal(defaults, []string{"a1", "a2", "b1"}) {
		t.Errorf("the defaults became %q", defaults)
	}
}
