package jetstream

import (
	"strings"
	"testing"
)

func TestChooseKeepsTheFullestCopy(t *testing.T) {
	t.Parallel()
	whole := func(server string, n uint64) Copy {
		return Copy{Server: server, Messages: n, Readable: n, First: 1, Last: n}
	}
	damaged := func(server string, n, bad uint64) Copy {
		return Copy{Server: server, Messages: n, Readable: n - bad, First: 1, Last: n}
	}
	unknown := Copy{Server: "u", Unknown: true}
	gaps := Copy{Server: "g", Messages: 700, Readable: 700, First: 1, Last: 800}
	for name, tt := range map[string]struct {
		copies []Copy
		want   string // server, or error
	}{
		"equal":                            {[]Copy{whole("a", 800), whole("b", 800), whole("c", 800)}, "a"},
		"the leader has less":              {[]Copy{whole("a", 96), whole("b", 800), whole("c", 100)}, "b"},
		"damage in two":                    {[]Copy{damaged("a", 800, 4), damaged("b", 800, 1), whole("c", 800)}, "c"},
		"damage in all":                    {[]Copy{damaged("a", 800, 4), damaged("b", 800, 1), damaged("c", 800, 2)}, "the fullest copy is damaged"},
		"the whole copy has less":          {[]Copy{damaged("a", 800, 4), whole("b", 138), whole("c", 700)}, "the fullest copy is damaged"},
		"one is unknown":                   {[]Copy{whole("a", 800), unknown, damaged("c", 800, 2)}, "a"},
		"one is unknown and may have more": {[]Copy{gaps, unknown, gaps}, "a copy cannot be read and may have more"},
		"empty":                            {[]Copy{{Server: "a"}, unknown, {Server: "c"}}, "a"},
		"none can be read":                 {[]Copy{unknown, unknown, unknown}, "no copy can be read"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			best, err := choose(tt.copies)
			switch {
			case err != nil && !strings.Contains(err.Error(), tt.want):
				t.Errorf("%v, want %s", err, tt.want)
			case err == nil && best.Server != tt.want:
				t.Errorf("%s, want %s", best.Server, tt.want)
			}
		})
	}
}
