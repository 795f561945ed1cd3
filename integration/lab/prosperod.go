package lab

// prosperod is the project's own: nobody packages a Prospero server.
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

// prosperoList asks for the topmost directory, in one packet with the shortest header of ARDP.
const prosperoList = "\x01VERSION 5\nDIRECTORY ASCII /\nLIST ATTRIBUTES\n"
