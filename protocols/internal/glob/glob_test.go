package glob

import (
	"strings"
	"testing"
)

func TestMatch(t *testing.T) {
	t.Parallel()
	if Match(strings.Repeat("*a", 1000)+"b", strings.Repeat("a", 10_000)) {
		t.Error("matches")
	}
	for pattern, hosts := range map[string]string{"*": " a ab", "a*": "a ab", "*b": "b ab", "a*b": "ab aab acb", "?": "a b", "??*": "ab abc", "": ""} {
		for host := range strings.SplitSeq(hosts, " ") {
			if !Match(pattern, host) {
				t.Errorf("%q does not match %q", pattern, host)
			}
		}
	}
}
