package flags

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/urlget/urlget/fetch"
)

func TestSplit(t *testing.T) {
	t.Parallel()
	table := New().Table()
	set := pflag.NewFlagSet("urlget", pflag.ContinueOnError)
	table.Define(set, Root)
	tests := []struct{ args, want, letters string }{
		{"-nc u", "--no-clobber u", ""},
		{"-qnc u", "--no-clobber -q u", "q"},
		{"-ncq u", "--no-clobber -q u", "q"},
		{"-qnvc u", "--no-verbose -q -c u", "qc"},
		{"-qO- u", "-qO- u", "qO"},
		{"-qO -nc u", "-qO -nc u", "qO"},
		{"-O -nc -nc u", "-O -nc --no-clobber u", "O"},
		{"-Onc u", "-Onc u", "O"},
		{"--output-document -nc u", "--output-document -nc u", ""},
		{"--output-document=x -nc u", "--output-document=x --no-clobber u", ""},
		{"--quiet -nc u", "--quiet --no-clobber u", ""},
		{"-q -- -nc", "-q -- -nc", "q"},
		{"- -nc", "- --no-clobber", ""},
		{"-i - -nc", "-i - --no-clobber", "i"},
		{"-O", "-O", "O"},
		{"ls -q u", "ls -q u", "q"},
		{"-vL -H -u -uX u", "-vL -H -u -uX u", "vLHu"},
	}
	for _, tt := range tests {
		got, letters, err := table.Split(strings.Fields(tt.args), set)
		if err != nil || !slices.Equal(got, strings.Fields(tt.want)) || letters != tt.letters {
			t.Errorf("%s: %q with the letters %s, %v; want %s with %s", tt.args, got, letters, err, tt.want, tt.letters)
		}
	}
	for _, args := range []string{"-n u", "-nx", "-qnx", "-ncn"} {
		if got, _, err := table.Split(strings.Fields(args), set); err == nil {
			t.Errorf("%s: %q", args, got)
		}
	}
}

func TestSeconds(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{"0": 0, "5": 5 * time.Second, "0.5": 500 * time.Millisecond, "2m": 2 * time.Minute} {
		if s, err := parseSeconds(text); err != nil || s != want {
			t.Errorf("%q: %v, %v", text, s, err)
		}
	}
	for _, text := range []string{"", "x", "-1", "-1s", "NaN", "Inf", "1e300", "1 s"} {
		if s, err := parseSeconds(text); err == nil || !slices.Contains([]string{"out of range", "must be a number of seconds"}, err.Error()) {
			t.Errorf("%q: %v, error %v", text, s, err)
		}
	}
}

func TestSize(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{"1": 1, "10k": 10 << 10, "1.5M": 3 << 19, "2g": 2 << 30, "1T": 1 << 40} {
		if s, err := parseSize(text); err != nil || s != want {
			t.Errorf("%q: %d, %v", text, s, err)
		}
	}
	for _, text := range []string{"", "k", "0", "-1", "0.1", "NaN", "1e30", "5x", "9999999t"} {
		if s, err := parseSize(text); err == nil || !strings.HasPrefix(err.Error(), "must be a number of bytes") {
			t.Errorf("%q: %d, error %v", text, s, err)
		}
	}
}

func TestPorts(t *testing.T) {
	t.Parallel()
	var p []uint16
	list := listBy(&p, parsePorts)
	if err := errors.Join(list.Set("25"), list.Set("110,143")); err != nil || !slices.Equal(p, []uint16{25, 110, 143}) {
		t.Errorf("%v, %v", p, err)
	}
	for _, text := range []string{"", "0", "65536", "-1", "a", "1,"} {
		if _, err := parsePorts(text); err == nil || err.Error() != "must be a port from 1 to 65535" {
			t.Errorf("%q: error %v", text, err)
		}
	}
}

func TestParseRange(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]fetch.Range{
		"0-0": {Offset: 0, Length: 1}, "5-9": {Offset: 5, Length: 5}, "7-": {Offset: 7}, "0-": {},
		"-5": {Offset: -5}, "5": {Offset: 5},
	} {
		if got, err := parseRange(text); err != nil || got != want {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "-", "-0", "--5", "+5", "5-4", "a-b", "1-2-3", "99999999999999999999-", "-99999999999999999999"} {
		if got, err := parseRange(text); err == nil || err.Error() != "malformed range" {
			t.Errorf("%q: %v, error %v", text, got, err)
		}
	}
}

func TestParseRanges(t *testing.T) {
	t.Parallel()
	got, err := ParseRanges("0-10, 12-15,-3")
	if want := []fetch.Range{{Length: 11}, {Offset: 12, Length: 4}, {Offset: -3}}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v", got, err)
	}
	for _, text := range []string{"1-2,", ",", "1-2;3-4"} {
		if got, err := ParseRanges(text); err == nil || err.Error() != "malformed range" {
			t.Errorf("%q: %v, error %v", text, got, err)
		}
	}
}

func TestArguments(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"": {}, " \t": {}, "--nats nats://h": {"--nats", "nats://h"}, "  a  b ": {"a", "b"},
		`--embedded "my queue"`: {"--embedded", "my queue"}, `--embedded='it is "here"'`: {"--embedded=it is \"here\""},
		`C:\dir\q`: {`C:\dir\q`}, `"" x`: {"", "x"}, `a"b c"d`: {"ab cd"},
	} {
		if a, err := parseArguments(text); err != nil || a == nil || !slices.Equal(a, want) {
			t.Errorf("%q: %q, %v", text, a, err)
		}
	}
	for _, text := range []string{`"`, `a 'b`, `"it's`} {
		if a, err := parseArguments(text); err == nil || !strings.HasSuffix(err.Error(), "is not closed") {
			t.Errorf("%q: %q, error %v", text, a, err)
		}
	}
}
