package serve

import "net/http"

// A keyAction is what keys do on all pages, as in lynx and vi. static/app.js handles them.
type keyAction struct {
	Keys   []string
	Action string
}

var keyActions = []keyAction{
	{[]string{"?"}, "show this page"},
	{[]string{"/", "g"}, "focus the address bar"},
	{[]string{"f"}, "focus the filter"},
	{[]string{"j"}, "go to the next link of the content"},
	{[]string{"k"}, "go to the previous link of the content"},
	{[]string{"l", "Enter"}, "open the link"},
	{[]string{"h"}, "go back"},
	{[]string{"u"}, "go up one level"},
	{[]string{"n"}, "go to the next entry of the listing, such as the next article of a group"},
	{[]string{"p"}, "go to the previous entry of the listing"},
	{[]string{"r"}, "reload"},
	{[]string{"d"}, "download"},
	{[]string{"i", "="}, "show or hide what is known about the page"},
	{[]string{"b"}, "add or remove the bookmark"},
	{[]string{"s"}, "follow or unfollow the page"},
	{[]string{"#"}, "number the links, then type a number and Enter"},
	{[]string{"m"}, "go to the home page"},
}

func (s *Server) showKeys(w http.ResponseWriter, r *http.Request) {
	p := s.newPage(w, r, address{})
	p.begin(http.StatusOK, "Keys")
	p.put("keys", keyActions)
	p.end(nil)
}
