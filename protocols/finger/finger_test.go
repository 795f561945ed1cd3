package finger

import (
	"errors"
	"io"
	"io/fs"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest"
	"github.com/urlget/urlget/fetchtest/drive"
	"github.com/urlget/urlget/fetchtest/servers/queryd"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestConformance uses the names of the suite's files as user names.
func TestConformance(t *testing.T) {
	t.Parallel()
	fetchtest.Run(t, fetchtest.Harness{
		Start: func(t testing.TB, tree fs.FS) fetchtest.Site {
			replies := make(map[string]string)
			fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
				if err == nil && !d.IsDir() {
					data, _ := fs.ReadFile(tree, name)
					replies[name] = string(data)
				}
				return err
			})
			s := queryd.Start(t, queryd.Options{Scheme: "finger", Replies: replies})
			return fetchtest.Site{
				Load: Load,
				URL: func(name string) string {
					if info, err := fs.Stat(tree, name); err == nil && info.IsDir() || name == "octets.bin" {
						return "" // there are no directories, and lines are limited
					}
					return "finger://" + s.Addr + "/" + uri.Escape(name)
				},
				Log:   s.Log,
				Fault: s.Fail,
			}
		},
		Skip: map[string]string{
			"Noise":    "any bytes are a response",
			"NotFound": "that there is no such user is a text like others",
		},
	})
}

func TestQuery(t *testing.T) {
	t.Parallel()
	c := drive.Client(t, nil, Load)
	fetchtest.RunExplain(t, c, map[string]string{
		"finger://h.example/joe":               `send "joe"`,
		"finger://joe@h.example/":              `send "joe"`,
		"finger://joe@h.example":               `send "joe"`,
		"finger://h.example/":                  `send ""`,
		"finger://h.example":                   `send ""`,
		"finger://h.example//W%20joe":          `send "/W joe"`,
		"finger://h.example/%2FW%20joe":        `send "/W joe"`,
		"finger://h.example/W%20joe":           `send "/W joe"`,
		"finger://h.example//W":                `send "/W"`,
		"finger://h.example/W":                 `send "W"`,
		"finger://h.example/joe@other.example": `send "joe@other.example"`,
		"finger://h.example/joe?":              `send "joe?"`,
		"finger://h.example/joe%0D%0Ax":        "",
		"finger://h.example/joe%00":            "",
		"finger://jim@h.example/joe":           "",
		"finger://jim:secret@h.example/":       "",
		"finger:joe":                           "",
	})
}

func TestLineEndsAreVerbatim(t *testing.T) {
	t.Parallel()
	const reply = "Login: joe\nPlan:\r\n.\r\nlast\r"
	s := queryd.Start(t, queryd.Options{Scheme: "finger", Replies: map[string]string{"joe": reply}})
	c := drive.Client(t, nil, Load)
	got, resp, err := drive.Do(t, c, &fetch.Request{URL: uri.MustParse("finger://joe@" + s.Addr + "/")})
	if err != nil {
		t.Fatal(err)
	}
	if got != reply || resp.Framing != fetch.FramedByClose || resp.Name != "joe" {
		t.Errorf("got %q, %v, %+v", got, err, resp.Meta)
	}
}

func TestLongLineIsAnError(t *testing.T) {
	t.Parallel()
	s := queryd.Start(t, queryd.Options{Scheme: "finger", Replies: map[string]string{
		"long": "ok\n" + strings.Repeat("x", maxLine) + "\nok\n",
		"more": "ok\n" + strings.Repeat("x", maxLine+1) + "\nok\n",
		"rest": "ok\n" + strings.Repeat("x", 2*maxLine),
	}})
	c := drive.Client(t, nil, Load)
	for user, want := range map[string]error{"long": nil, "more": fetch.ErrProtocol, "rest": fetch.ErrProtocol} {
		resp, err := c.Get(t.Context(), "finger://"+s.Addr+"/"+user)
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		if !errors.Is(err, want) {
			t.Errorf("%s: error %v, want %v", user, err, want)
		}
	}
}
