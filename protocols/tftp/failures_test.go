package tftp

import (
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest"
	"github.com/urlget/urlget/fetchtest/drive"
	"github.com/urlget/urlget/fetchtest/servers/tftpd"
)

// TestRetrievalsOverAFailingNetwork drops and duplicates each datagram in turn. Nothing is parallel, because
// an abandoned transfer may continue to a port that another client uses.
func TestRetrievalsOverAFailingNetwork(t *testing.T) {
	patient := With(Options{First: 20 * time.Millisecond, Tries: 1000}) // each trial must end well
	tree := fstest.MapFS{"long": {Data: []byte(strings.Repeat("0123456789", 3000))}, "short": {Data: []byte("x")}, "empty": {}}
	for name, server := range map[string]tftpd.Options{
		"options":    {},
		"no options": {Without: []string{"*"}},
	} {
		for _, file := range []string{"long", "short", "empty", "none"} {
			t.Run(name+", "+file, func(t *testing.T) {
				opts := server
				opts.Tree, opts.Patience = tree, 50*time.Millisecond
				s := tftpd.Start(t, opts)
				fetchtest.RunFailures(t, fetchtest.Failures{Datagrams: true,
					Codes: []fetch.Code{fetch.ErrProtocol}, // an abandoned transfer may continue to a reused port
					Try: func(t testing.TB, o *fetch.Options) ([]byte, error) {
						c := fetch.New(o, patient)
						defer c.Close()
						body, err := drive.Read(c.Get(t.Context(), s.URL+"/"+file))
						return []byte(body), err
					}})
			})
		}
	}
}
