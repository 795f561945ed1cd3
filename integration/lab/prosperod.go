package lab

// prosperod is the project's own server, because no Prospero server is packaged.
var prosperod = &service{
	name: "prosperod",
	ports: []port{
		{name: "plain", published: 28194, greeting: greeting{udp: true, send: prosperoList, want: "LINK "}},
	},
	programs: []string{"go"},
	start: func(p *process) error {
		if err := p.build("fetchtest/servers/prosperod/cmd/prosperod"); err != nil {
			return err
		}
		return p.spawn("@DIR@/prosperod", "-listen", "@HOST@:@PORT_PLAIN@", "-root", "@ROOT@")
	},
}

// prosperoList requests the root directory, in one packet with the shortest ARDP header.
const prosperoList = "\x01VERSION 5\nDIRECTORY ASCII /\nLIST ATTRIBUTES\n"
