package smb2

import (
	"errors"
	"reflect"
	"slices"
	"testing"
)

func TestReferrals(t *testing.T) {
	t.Parallel()
	for _, want := range []Referral{{Consumed: 8}, {Consumed: 20, Targets: []string{`\a\b`}},
		{Consumed: 0xffff, Targets: []string{`\server\share\größe`, `\a\b`, `\c`}}} {
		b := want.Append(nil)
		if got, err := ParseReferral(b); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%+v, %v, want %+v", got, err, want)
		}
		for i := range b { // a prefix is malformed, and must not panic
			if got, err := ParseReferral(b[:i]); err == nil || !errors.Is(err, ErrMalformed) {
				t.Errorf("%d bytes of %+v: %+v, %v", i, want, got, err)
			}
		}
	}
	if got := ReferralPath(ReferralRequest(`\h\s\d`)); got != `\h\s\d` {
		t.Errorf("the path became %q", got)
	}
}

// TestReferralVersions has entries of all versions, written by hand.
func TestReferralVersions(t *testing.T) {
	t.Parallel()
	head, text := []byte{4, 0, 1, 0, 2, 0, 0, 0}, append(UTF16(`\a\b`), 0, 0)
	entry := func(version, size, flags byte, fields ...byte) []byte {
		return slices.Concat(head, []byte{version, 0, size, 0, 0, 0, flags, 0}, fields, text)
	}
	for name, tt := range map[string]struct {
		b    []byte
		want []string
		err  error
	}{
		"1":                  {entry(1, 18, 0), []string{`\a\b`}, nil},
		"2":                  {entry(2, 22, 0, 0, 0, 0, 0, 0, 0, 0, 0, 22, 0, 22, 0, 22, 0), []string{`\a\b`}, nil},
		"3":                  {entry(3, 18, 0, 0, 0, 0, 0, 18, 0, 18, 0, 18, 0), []string{`\a\b`}, nil},
		"4":                  {entry(4, 18, 4, 0, 0, 0, 0, 18, 0, 18, 0, 18, 0), []string{`\a\b`}, nil},
		"3, names of a list": {entry(3, 18, nameList, 0, 0, 0, 0, 18, 0, 1, 0, 18, 0), nil, nil},
		"5":                  {entry(5, 18, 0, 0, 0, 0, 0, 18, 0, 18, 0, 18, 0), nil, ErrMalformed},
		"beyond the end":     {entry(3, 18, 0, 0, 0, 0, 0, 18, 0, 18, 0, 255, 0), nil, ErrMalformed},
		"no end":             {entry(3, 18, 0, 0, 0, 0, 0, 18, 0, 18, 0, 28, 0), nil, ErrMalformed},
		"no size":            {entry(3, 0, 0, 0, 0, 0, 0, 18, 0, 18, 0, 18, 0), nil, ErrMalformed},
	} {
		got, err := ParseReferral(tt.b)
		if !slices.Equal(got.Targets, tt.want) || !errors.Is(err, tt.err) || (err == nil) != (tt.err == nil) {
			t.Errorf("%s: %+v, %v, want %q, %v", name, got, err, tt.want, tt.err)
		}
	}
}

func FuzzReferral(f *testing.F) {
	f.Add(Referral{Consumed: 8, Targets: []string{`\a\b`, `\c\d`}}.Append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		if r, err := ParseReferral(b); err == nil && len(r.Targets) > maxTargets {
			t.Errorf("%d targets", len(r.Targets))
		}
	})
}
