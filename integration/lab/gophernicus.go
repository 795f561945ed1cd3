package lab

// gophernicus knows menus and text of plain Gopher: menus end with a dot, text does not. It makes
// the line ends of text CR LF.
var gophernicus = &service{
	name: "gophernicus",
	ports: []port{
		{name: "plain", published: 28150, greeting: greeting{send: "/gopher\r\n", want: "iWelcome to the lab."}},
	},
	programs: []string{"gophernicus", "socat"},
	// In a selector it takes ? for a query, and decodes what begins with # or %. Names with a
	// leading dot it refuses.
	withholds: []string{
		NamesDir + "/question?.txt", NamesDir + "/hash#.txt", NamesDir + "/percent%.txt",
		NamesDir + "/percent%41.txt", NamesDir + "/.leading-dot.txt",
	},
	start: func(p *process) error {
		p.owner = nobody // it refuses to run as root
		return p.inetd("PLAIN", p.programs["gophernicus"]+
			" -r @ROOT@ -h 127.0.0.1 -p @PORT_PLAIN@ -c /gopher/cgi-bin -i 2000000000 -k 2000000000 -nf -nu")
	},
}
