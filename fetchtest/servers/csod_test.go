package servers_test

import (
	"io"
	"net"
	"testing"
	"time"

	"github.com/urlget/urlget/fetchtest/servers/csod"
)

var csoPeople = []csod.Person{
	{{Name: "alias", Value: "j-smith"}, {Name: "name", Value: "smith john"}, {Name: "address", Value: "1 Road\nTown"}},
	{{Name: "alias", Value: "m-smith"}, {Name: "name", Value: "smith mary"}, {Name: "email", Value: "mary@example.org"}},
	{{Name: "alias", Value: "jones"}, {Name: "name", Value: "jones john"}},
}

func TestCSOQueries(t *testing.T) {
	t.Parallel()
	s := csod.Start(t, csod.Options{People: csoPeople, Max: 2, Replies: map[string]string{"raw": "-200:1:x:y\r\n"}})
	for command, want := range map[string]string{
		"query mary": "102:There was 1 match to your request.\r\n-200:1:       alias: m-smith\r\n-200:1:        name: smith mary\r\n" +
			"-200:1:       email: mary@example.org\r\n200:Ok.\r\n",
		"ph name=smith return alias address": "102:There were 2 matches to your request.\r\n-200:1:       alias: j-smith\r\n" +
			"-200:1:     address: 1 Road\r\n-200:1:            : Town\r\n-200:2:       alias: m-smith\r\n200:Ok.\r\n",
		"query alias=jones return all": "102:There was 1 match to your request.\r\n-200:1:       alias: jones\r\n-200:1:        name: jones john\r\n200:Ok.\r\n",
		"query nofield=x":              "-507:nofield:unknown field.\r\n500:Did not understand query.\r\n",
		"query jones return shoe":      "-507:shoe:unknown field.\r\n500:Did not understand query.\r\n",
		"query o":                      "502:Too many matches to print.\r\n",
		"query zebra":                  "501:No matches to your query.\r\n",
		"query raw":                    "-200:1:x:y\r\n200:Ok.\r\n",
		"fields":                       "598:Command not recognized.\r\n",
	} {
		conn, err := net.Dial("tcp", s.Addr)
		if err != nil {
			t.Fatal(err)
		}
		conn.SetDeadline(time.Now().Add(5 * time.Minute))
		io.WriteString(conn, command+"\r\nquit\r\n")
		got, err := io.ReadAll(conn)
		conn.Close()
		if string(got) != want+"200:Bye!\r\n" || err != nil {
			t.Errorf("%s:\ngot  %q, %v\nwant %q", command, got, err, want)
		}
	}
}
