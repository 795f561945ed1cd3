package lab

import (
	"bytes"

	"github.com/urlget/urlget/internal/codec/apdu"
)

// waisd is the project's own server, because no WAIS server is packaged. It serves the top-level
// folders of the tree as databases.
var waisd = &service{
	name: "waisd",
	ports: []port{
		{name: "plain", published: 28192, greeting: greeting{send: waisSearch(), want: "database: "}},
	},
	programs: []string{"go"},
	start: func(p *process) error {
		if err := p.build("fetchtest/servers/waisd/cmd/waisd"); err != nil {
			return err
		}
		return p.spawn("@DIR@/waisd", "-listen", "@HOST@:@PORT_PLAIN@", "-root", "@ROOT@")
	},
}

// waisSearch searches the server's databases for "text".
func waisSearch() string {
	var b bytes.Buffer
	// Writing to a Buffer never fails.
	_ = apdu.WritePacket(&b, apdu.Search{Database: "INFO", Words: "text", MaxHits: 5}.Encode())
	return b.String()
}
