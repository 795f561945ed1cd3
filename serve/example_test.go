package serve_test

import (
	"fmt"
	"net"
	"net/http"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/protocols"
	"github.com/urlget/urlget/serve"
)

func Example() {
	own := fetch.New(&fetch.Options{Recorder: serve.Recorder()}, protocols.All)
	others := fetch.New(&fetch.Options{Recorder: serve.Recorder(), Places: own}, protocols.All) // without logins and cookies
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer l.Close() // a program would pass it to http.Serve
	host := l.Addr().String()
	s := serve.New(serve.Options{Client: own, Foreign: others, Hosts: []string{host}, Token: "a-secret"})
	var _ http.Handler = s
	fmt.Println(s.Address("127.0.0.1:8080"))
	// Output: http://127.0.0.1:8080/?token=a-secret
}
