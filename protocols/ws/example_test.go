package ws_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/coder/websocket"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/protocols/ws"
)

// A session until the server closes it.
func Example() {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		for _, text := range []string{"wet", "wetter"} {
			c.Write(r.Context(), websocket.MessageText, []byte(text))
		}
		c.Close(websocket.StatusNormalClosure, "")
	}))
	defer s.Close()
	c := fetch.New(nil, ws.Load)
	defer c.Close()
	session, err := c.Dial(context.Background(), "ws"+strings.TrimPrefix(s.URL, "http")+"/rain")
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	text, err := io.ReadAll(session)
	fmt.Printf("%q %v\n", text, err)
	// Output:
	// "wet\nwetter\n" <nil>
}
