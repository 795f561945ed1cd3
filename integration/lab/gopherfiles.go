package lab

// gopherFiles are the files with a meaning for gopher servers. A gophermap line without host and
// port refers to the same server. pygopherd reads Gopher+ abstracts and forms from the files
// name.abstract and name.ask.
var gopherFiles = []namedText{
	{"gophermap", "Welcome to the lab.\n" +
		"0A text\thello.txt\n" +
		"7Search words\t/gopher/cgi-bin/search\n" +
		"9All bytes\t/octets.bin\n" +
		"1Many files\t/many\n" +
		"hA web page\tURL:http://localhost/\n" +
		"8A telnet session\tguest\tlocalhost\t23\n" +
		"TA mainframe\t\tlocalhost\t3270\n" +
		"2A directory of people\t\tlocalhost\t105\n"},
	{"hello.txt", "Hello, gopher.\n"},
	{"hello.txt.abstract", "An abstract of hello.\nIt has two lines.\n"},
	{"dots.txt", ".\n..\n.leading\nmiddle\n.\n"},
	{"cgi-bin/search", "#!/bin/sh\n" +
		"# Both gopher servers run this for an item of type 7.\n" +
		"printf 'iYou searched for: %s\\t\\terror.host\\t1\\r\\n' \"$SEARCHREQUEST\"\n"},
	{"plus/hello.txt", "Hello, Gopher+.\n"},
	{"plus/hello.txt.abstract", "An abstract of hello.\nIt has two lines.\n"},
	{"plus/form", "This is what the form is about.\n"},
	{"plus/form.ask", "Note: Who are you?\nAsk: Your name\tJoe\nChoose: Color\tred\tblue\n"},
}
