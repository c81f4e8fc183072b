"""Views make documents of the API of the values of core and store; a module for each subject, as in `api/documents`."""
